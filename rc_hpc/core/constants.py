"""Numbers that several floors share, each with the reason for its value."""

#: Certified tolerance delta = tau, Å: acceptance, merging and the label's symprec.
DELTA = 0.01
TAU = 0.01
#: spglib's angle tolerance of the canonical label, degrees.
ANGLE_TOLERANCE = 5.0
#: symprec of the conventional standard cell, Å: it defines the cell that is drawn.
CELL_SYMPREC = 0.01

#: Distance within which an operation of a point group must bring the atoms of a molecule to others
#: of their element, Å. At pymatgen's own 0.3 Å small molecules such as CH3S get operations that
#: they have not.
GROUP_TOLERANCE = 0.05

#: Tolerance sweep: symprec in units of tau, and angle tolerance in degrees (None: the label's own,
#: -1: spglib's rule, by which angles count as lengths do). The first is the label's setting.
SWEEP = ((1, None), (0.1, None), (5, None), (10, None), (1, 1.0), (1, 10.0), (1, -1.0))
#: Indices into SWEEP of the production neighbourhood: the extremes, a tenth of tau and ten times
#: tau, are left out.
NEIGHBOURHOOD = (0, 2, 4, 5, 6)

#: Two lengths closer than this are one number, Å. Far above float64 noise in a
#: cell of 10^5 atoms (1e-13 Å), far below any structural detail (CIF: 1e-8 of a cell).
NUMERICAL_ZERO = 1e-9
#: Scale at which ties of image points and of residuals are judged, Å: above what files of seven
#: decimals leave of exact coincidence, far below what tells atoms apart.
TIE = 1e-6
#: Numerical zero of the phantom census and of Definition 7's exact intersection, Å.
CENSUS_ZERO = 1e-6
#: Reconstructions whose atoms all agree to this get one label, Å.
SAME_RECONSTRUCTION = 1e-8

#: Largest delta up to which the phantom profile is followed by default, Å.
DELTA_MAX = 0.5
#: Tolerances of the frontier by default, Å: those of the recorded ones.
FRONTIER_DELTAS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
#: Standard deviations of centroid noise by default, Å: the recorded ones, and on to where R1 of the
#: default reading has fallen below 0.95.
NOISE_SIGMAS = (0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
#: The same for comparing camera sets, Å: on to where positions no longer tell symmetries apart.
DESIGN_SIGMAS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
#: Atoms of a conventional cell beyond which a structure is refused by default.
MAX_ATOMS = 500
#: Atoms of one cell closer than this are taken for a broken file, Å.
MIN_DISTANCE = 0.1
#: Atoms closer than this share of the sum of their covalent radii make a structure doubtful.
SHORT_DISTANCE = 0.7
#: Atoms of a molecule closer than this share are told in other units than Å: the closest of the G2
#: set are at 0.77, which nanometres make 0.077.
MOLECULE_DISTANCE = 0.2
#: Views of a protocol at most: a subset is a bit mask and all of them are listed.
MAX_VIEWS = 16

#: Crystal systems in the order of the space-group numbers; index + 1 is the stored code, 0 is none.
CRYSTAL_SYSTEMS = (
    "triclinic",
    "monoclinic",
    "orthorhombic",
    "tetragonal",
    "trigonal",
    "hexagonal",
    "cubic",
)
#: Last space-group number of each crystal system.
LAST_NUMBER = (2, 15, 74, 142, 167, 194, 230)
