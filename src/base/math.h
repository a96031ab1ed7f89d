#pragma once

/// The value of every elementwise op on single numbers: `ingot::base::math::<op>` for each element type that
/// the op accepts, and `cast`. They give what NumPy gives: bit for bit where IEEE or the integers define what
/// the value, within 1 ulp (double) and 2 ulp (float) for elementary functions; sign and payload of a NaN are
/// unspecified. No argument is undefined behaviour. Where NumPy's vector loops and its scalar code differ
/// (complex products, floats out of range converted to uint32), the scalar code is followed; of +0 and -0,
/// minimum, maximum, fmin and fmax give the first operand.

#include "base/math/arithmetic.h"
#include "base/math/bits.h"
#include "base/math/cast.h"
#include "base/math/compare.h"
#include "base/math/complex.h"
#include "base/math/elementary.h"
#include "base/math/floating.h"
#include "base/math/types.h"
