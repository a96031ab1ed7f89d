#pragma once

/// Where functions of complex numbers are made of functions of the parts: nothing overflows on the way, nor
/// is rounded as a denormal before the end.
namespace ingot::base::math::kernels {

/// Sizes of x up to which exp, sinh and cosh of x may be multiplied by the sine or cosine of y.
inline constexpr double kPlainExponent = 700;
/// The least and largest modulus of what the square root is taken of.
inline constexpr double kPlainRoot[] = {0x1p-500, 0x1p500};

}  // namespace ingot::base::math::kernels
