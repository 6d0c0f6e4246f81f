"""What the pictures of a question determine: points, the cell, and the options that remain."""
