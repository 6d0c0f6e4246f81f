"""How kernels are compiled.

A kernel is linked into all that call it and optimised there again, with whatever comes with
it: what no one asks for is left out, which takes a good part of the time of a first run.
"""

from numba import njit

#: A kernel that Python calls.
kernel = njit(cache=True, no_cfunc_wrapper=True)
#: One that only kernels call.
inner = njit(cache=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)
