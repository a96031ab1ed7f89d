#include "base/math/called.h"

// The functions of `base::math` that code calls, by the symbols that it names them by.

extern "C" {
INGOT_CALLED_REAL(INGOT_DEFINE_CALLED_REAL)
INGOT_CALLED_COMPLEX(INGOT_DEFINE_CALLED_COMPLEX)
}
