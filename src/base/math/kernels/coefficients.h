#pragma once

#include <cstdint>

// Written by tools/minimax: do not edit.

namespace ingot::base::math::kernels {

/// log2(e), the sum of its parts.
inline constexpr double kLog2E[] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
/// ln(2), the sum of its parts.
inline constexpr double kLn2[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
/// ln(2), the sum of its parts.
inline constexpr double kLn2Long[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111};
/// ln(2), the sum of its parts.
inline constexpr double kLn2Float[] = {0x1.62e42e0000000p-1, 0x1.efa39e0000000p-25};
/// log2(e), the sum of its parts.
inline constexpr double kLog2EFloat[] = {0x1.7154760000000p+0, 0x1.4ae0c00000000p-26};
/// log10(e), the sum of its parts.
inline constexpr double kLog10E[] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
/// log10(e), the sum of its parts.
inline constexpr double kLog10EFloat[] = {0x1.bcb7b20000000p-2, -0x1.5b235e0000000p-27};
/// log10(2), its first part short: an exponent times it is exact, the sum of its parts.
inline constexpr double kLog10Of2[] = {0x1.34413509f8000p-2, -0x1.80433b83b6000p-44};
/// log10(2), its first part short: an exponent times it is exact, the sum of its parts.
inline constexpr double kLog10Of2Float[] = {0x1.3440000000000p-2, 0x1.3508000000000p-18};
/// 2 log2(e), the sum of its parts.
inline constexpr double kTwoLog2E[] = {0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55};
/// 1/3, the sum of its parts.
inline constexpr double kThird[] = {0x1.5555555555555p-2, 0x1.5555555555555p-56};
/// 2/pi.
inline constexpr double kTwoOverPi[] = {0x1.45f306dc9c883p-1};
/// pi/2, the sum of its parts.
inline constexpr double kHalfPi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
/// pi/2, the sum of its parts.
inline constexpr double kHalfPiLong[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110,
                                         0x1.4cf98e804177dp-164};
/// pi/2, the sum of its parts.
inline constexpr double kHalfPiFloat[] = {0x1.921fb60000000p+0, -0x1.777a5c0000000p-25,
                                          -0x1.ee59da0000000p-50};
/// pi, the sum of its parts.
inline constexpr double kPiFloat[] = {0x1.921fb60000000p+1, -0x1.777a5c0000000p-24, -0x1.ee59da0000000p-49};
/// 1/pi.
inline constexpr double kOneOverPi[] = {0x1.45f306dc9c883p-2};
/// pi/4, the sum of its parts.
inline constexpr double kQuarterPiFloat[] = {0x1.921fb60000000p-1, -0x1.777a5c0000000p-26};
/// pi/4, the sum of its parts.
inline constexpr double kQuarterPi[] = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
/// 2^(-1/3).
inline constexpr double kRootOfHalf[] = {0x1.965fea53d6e3dp-1};
/// 2^(1/3).
inline constexpr double kRootOfTwo[] = {0x1.428a2f98d728bp+0};
/// tan(pi/8).
inline constexpr double kTanEighth[] = {0x1.a827999fcef32p-2};
/// 2/sqrt(pi) - 1, the sum of its parts.
inline constexpr double kTwoOverRootPiLessOne[] = {0x1.06eba8214db69p-3, -0x1.ca38add602500p-57};
/// 2/sqrt(pi) - 1, the sum of its parts.
inline constexpr double kTwoOverRootPiLessOneFloat[] = {0x1.06eba80000000p-3, 0x1.0a6db40000000p-30};
/// log(2 pi)/2, the sum of its parts.
inline constexpr double kHalfLogOfCircle[] = {0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};
/// log2(2 pi)/2, the sum of its parts.
inline constexpr double kHalfLog2OfCircle[] = {0x1.536439a4c6efcp+0, -0x1.49e49a361efebp-54};
/// R(0) of kLogGamma, the sum of its parts.
inline constexpr double kLogGammaMiddle[] = {0x1.d32d347459c7ap-2, 0x1.650f8baa8648cp-56};
/// G(0) of kErfc, the sum of its parts.
inline constexpr double kErfcMiddle[] = {0x1.0561fb5819762p+0, 0x1.b11d8f56b9af4p-54};
/// G(0) of kErfcFloat, the sum of its parts.
inline constexpr double kErfcMiddleFloat[] = {0x1.0166aa0000000p+0, 0x1.206c120000000p-25};

/// (exp(r) - 1 - r) / r^2, |r| <= ln(2)/2; error 2^-56.77.
inline constexpr double kExp[] = {0x1.000000000000ap-1,  0x1.5555555555515p-3,  0x1.5555555550acep-5,
                                  0x1.111111112a640p-7,  0x1.6c16c1838d677p-10, 0x1.a01a00f314502p-13,
                                  0x1.a0199b4e7cc34p-16, 0x1.71dfe53e9ded3p-19, 0x1.28acd1551e5c1p-22,
                                  0x1.ac007eb28d2fbp-26};
/// (exp(r) - 1 - r - r^2/2) / r^3; error 2^-63.54.
inline constexpr double kExpCubic[] = {0x1.555555555555bp-3,  0x1.5555555555537p-5,  0x1.111111110ed17p-7,
                                       0x1.6c16c16c234e1p-10, 0x1.a01a01b376dd4p-13, 0x1.a01a0168bfeafp-16,
                                       0x1.71ddefc2129f5p-19, 0x1.27e5563740b6dp-22, 0x1.af6d214545546p-26,
                                       0x1.1ec5885c8a58bp-29};
/// the same, for float; error 2^-31.24.
inline constexpr double kExpShort[] = {0x1.0000000000000p-1, 0x1.55553c0a7981ep-3,  0x1.5554f1610add7p-5,
                                       0x1.1136e2a0fea34p-7, 0x1.6d42336ade4c6p-10, 0x1.6c3021a24d618p-13};
/// the same, in float; error 2^-28.17.
inline constexpr double kExpFloat[] = {0x1.fffffc0000000p-2, 0x1.55548a0000000p-3, 0x1.5558500000000p-5,
                                       0x1.123e600000000p-7, 0x1.6ab6960000000p-10};
/// (2^r - 1) / r, |r| <= 1/2, in float; error 2^-26.24.
inline constexpr double kExp2Float[] = {0x1.62e4300000000p-1, 0x1.ebfb940000000p-3,  0x1.c6af9e0000000p-5,
                                        0x1.3b67ee0000000p-7, 0x1.5ef5320000000p-10, 0x1.17db800000000p-13};
/// (2^f - 1 - f ln(2)) / f^2, |f| <= 1/2; error 2^-55.95.
inline constexpr double kExp2[] = {0x1.ebfbdff82c5a1p-3,  0x1.c6b08d7049ef6p-5,  0x1.3b2ab6fba04c3p-7,
                                   0x1.5d87fe78d43afp-10, 0x1.4309130f680adp-13, 0x1.ffcbfc66fdc5ap-17,
                                   0x1.62bfc36a81a28p-20, 0x1.b5236424dc5b2p-24, 0x1.e6265c8a6032fp-28,
                                   0x1.ee2b96ae93d3cp-32};
/// (2^f - 1) / f, for float; error 2^-34.01.
inline constexpr double kExp2Short[] = {0x1.62e42ff0e663dp-1, 0x1.ebfbe07948087p-3,  0x1.c6b08ab7594c1p-5,
                                        0x1.3b29f176f5873p-7, 0x1.5d8a8d75c4390p-10, 0x1.445ed13d0cbb8p-13,
                                        0x1.fdddce16850a3p-17};
/// (cosh(r) - 1) / r^2 in z = r^2; error 2^-57.97.
inline constexpr double kCosh[] = {0x1.000000000000cp-1, 0x1.555555554fd64p-5, 0x1.6c16c1863f165p-10,
                                   0x1.a01994fcc8375p-16, 0x1.28b1c0795a63ap-22};
/// (sinh(r)/r - 1) / r^2 in z; error 2^-61.68.
inline constexpr double kSinh[] = {0x1.5555555555559p-3, 0x1.111111110f627p-7, 0x1.a01a01b022afap-13,
                                   0x1.71ddf7a71c915p-19, 0x1.af60074f07750p-26};
/// (atanh(s)/s - 1) / s^2 in z = s^2, |s| <= 1/5; error 2^-62.65.
inline constexpr double kAtanh[] = {0x1.555555555554fp-2, 0x1.999999999c176p-3, 0x1.24924921e4a2dp-3,
                                    0x1.c71c748f59138p-4, 0x1.745c4af858967p-4, 0x1.3b35bcad8fd83p-4,
                                    0x1.0dcbe0a79acefp-4, 0x1.1b7f7ae130267p-4};
/// (atanh(s)/s - 1 - z/3) / z^2; error 2^-69.04.
inline constexpr double kAtanhLong[] = {0x1.9999999999968p-3, 0x1.2492492498d3ep-3, 0x1.c71c71bc77d90p-4,
                                        0x1.745d1bc2f5171p-4, 0x1.3b12990a6008dp-4, 0x1.113a066e3abb0p-4,
                                        0x1.dad2747e46716p-5, 0x1.01776c7e3941cp-4};
/// kAtanh for float; error 2^-35.35.
inline constexpr double kAtanhShort[] = {0x1.5555542292753p-2, 0x1.999bdb41dee4cp-3, 0x1.23e9b7895c1bfp-3,
                                         0x1.ed8a4ad2c93afp-4};
/// (log(1 + f) - f + f^2/2) / f^3, -1/4 <= f <= 1/2, in float; error 2^-27.46.
inline constexpr double kLogFloat[] = {0x1.5555a40000000p-2,  -0x1.0000460000000p-2, 0x1.99695c0000000p-3,
                                       -0x1.54ed760000000p-3, 0x1.2883f00000000p-3,  -0x1.0da2380000000p-3,
                                       0x1.ad011c0000000p-4,  -0x1.71dda80000000p-5};
/// (tanh(x)/x - 1) / x^2 in z = x^2, |x| <= 0.6, in float; error 2^-28.47.
inline constexpr double kTanhFloat[] = {-0x1.55553e0000000p-2, 0x1.1109be0000000p-3, -0x1.b89a820000000p-5,
                                        0x1.54c0480000000p-6, -0x1.826d0a0000000p-8};
/// (sinh(x)/x - 1) / x^2 in z, |x| <= 1, in float; error 2^-31.54.
inline constexpr double kSinhFloat[] = {0x1.5555560000000p-3, 0x1.1110e20000000p-7, 0x1.a021560000000p-13,
                                        0x1.75a70e0000000p-19};
/// kSin for |x| <= pi/2, in float; error 2^-31.15.
inline constexpr double kSinHalfFloat[] = {-0x1.5555560000000p-3, 0x1.1111380000000p-7,
                                           -0x1.a024c40000000p-13, 0x1.72f25e0000000p-19,
                                           -0x1.b97fd00000000p-26};
/// kAtan for |u| <= 1, in float; error 2^-28.67.
inline constexpr double kAtanFloat[] = {-0x1.5555400000000p-2, 0x1.9992660000000p-3,  -0x1.24262c0000000p-3,
                                        0x1.c0c9140000000p-4,  -0x1.58bdf20000000p-4, 0x1.dc9d080000000p-5,
                                        -0x1.0135620000000p-5, 0x1.69776c0000000p-7,  -0x1.dceb360000000p-10};
/// (sin(x)/x - 1) / x^2 in z = x^2, |x| <= pi/4; error 2^-57.98.
inline constexpr double kSin[] = {-0x1.5555555555549p-3, 0x1.111111110f893p-7,   -0x1.a01a019c12397p-13,
                                  0x1.71de3576d5ecbp-19, -0x1.ae5e64bb86c40p-26, 0x1.5d9263575585cp-33};
/// (cos(x) - 1 + z/2) / z^2; error 2^-64.15.
inline constexpr double kCos[] = {0x1.555555555554cp-5,   -0x1.6c16c16c15210p-10, 0x1.a01a019cbcd98p-16,
                                  -0x1.27e4f81046b29p-22, 0x1.1ee9ef5414c81p-29,  -0x1.8fb0027774992p-37};
/// kSin for float; error 2^-37.55.
inline constexpr double kSinShort[] = {-0x1.5555554ca9d02p-3, 0x1.1111088aac34ep-7, -0x1.a00f93fc458ddp-13,
                                       0x1.6cd5f868f5c50p-19};
/// kCos for float; error 2^-33.27.
inline constexpr double kCosShort[] = {0x1.55554aa6eea57p-5, -0x1.6c0c83266a40cp-10, 0x1.99ffbc9fa0edap-16};
/// (atan(u)/u - 1) / u^2 in z = u^2, |u| <= tan(pi/8); error 2^-59.47.
inline constexpr double kAtan[] = {-0x1.555555555553dp-2, 0x1.9999999995898p-3,  -0x1.24924922aef17p-3,
                                   0x1.c71c70e6bbf18p-4,  -0x1.745cf8f000943p-4, 0x1.3b111a6e263bap-4,
                                   -0x1.10ebc6786707fp-4, 0x1.df100b3429728p-5,  -0x1.9cd5d5616c2c8p-5,
                                   0x1.37dcc05198dbep-5,  -0x1.25783b0ed952dp-6};
/// (asin(x)/x - 1) / x^2 in z = x^2, |x| <= 1/2; error 2^-55.85.
inline constexpr double kAsin[] = {0x1.5555555555384p-3, 0x1.333333336fe40p-4,  0x1.6db6db4196921p-5,
                                   0x1.f1c72c81b1549p-6, 0x1.6e89ed83fa2edp-6,  0x1.1c6c45f9b5148p-6,
                                   0x1.c6f61cc4b93fap-7, 0x1.8ef48b7fe40a6p-7,  0x1.aa27f4895bcdep-8,
                                   0x1.4112ed11baa66p-6, -0x1.0b8f51536673ep-6, 0x1.0604076589db4p-5};
/// kAsin in float; error 2^-27.57.
inline constexpr double kAsinFloat[] = {0x1.5555ca0000000p-3, 0x1.33015e0000000p-4, 0x1.748c000000000p-5,
                                        0x1.8b9eb00000000p-6, 0x1.59e2b00000000p-5};
/// m^(-1/3), 1 <= m <= 2; error 2^-17.4.
inline constexpr double kRootStart[] = {0x1.c7f3b49d06f51p+0,  -0x1.90e85b4f21f44p+0, 0x1.3e6a4f1b81a93p+0,
                                        -0x1.321ea1a1f8ab9p-1, 0x1.3fa5948147b97p-3,  -0x1.16da68322a888p-6};
/// (erf(x)/x - 2/sqrt(pi)) / z in z = x^2, |x| <= 0.85; error 2^-62.08.
inline constexpr double kErf[] = {-0x1.812746b0379e6p-2,  0x1.ce2f21a042ae9p-4,   -0x1.b82ce31281d8cp-6,
                                  0x1.565bcd0ce8f40p-8,   -0x1.c02db39e17240p-11, 0x1.f9a3173fd2526p-14,
                                  -0x1.f4d0b523cf7e5p-17, 0x1.b9c921dfa8705p-20,  -0x1.5e137ac518ac9p-23,
                                  0x1.e7c7146cac604p-27,  -0x1.e6b4d0ee93430p-31};
/// kErf in float; error 2^-32.42.
inline constexpr double kErfFloat[] = {-0x1.8127460000000p-2, 0x1.ce2ece0000000p-4,   -0x1.b8205a0000000p-6,
                                       0x1.5582580000000p-8,  -0x1.b1475c0000000p-11, 0x1.7646c80000000p-14};
/// log(erfc(x)) + x^2 in x - 0.8125, 0.85 <= x <= 5.95; error 2^-56.36.
inline constexpr double kLogErfc[] = {
    -0x1.72afab9b6e11dp-1,  -0x1.67a934282c59ep-1,  0x1.75ce165ec35a4p-3,   -0x1.980e779316c7dp-5,
    0x1.895d7e73a0f87p-7,   -0x1.222d0d81a9152p-9,  0x1.651ed20c829dep-13,  0x1.52a01ea1b6ceep-14,
    -0x1.86808e991c513p-15, 0x1.c0bc41e0d734bp-17,  -0x1.f204588e35918p-20, -0x1.851964b5acc15p-22,
    0x1.65c2fce548ea6p-22,  -0x1.07fdd1d1965ddp-23, 0x1.03b7e1aff9460p-25,  -0x1.68411192e2f74p-28,
    0x1.54f7674fcff57p-31,  -0x1.8c7a5b298e906p-35, 0x1.ab3caadfd5180p-40};
/// kLogErfc to 4, in float; error 2^-28.31.
inline constexpr double kLogErfcFloat[] = {
    -0x1.72afae0000000p-1, -0x1.67a8e40000000p-1, 0x1.75c1e20000000p-3, -0x1.974f7e0000000p-5,
    0x1.8435ca0000000p-7,  -0x1.14e1d80000000p-9, 0x1.a6df940000000p-13};
/// (G(u) - G(0)) / u, G = erfc(x) exp(x^2) (x + 3.0), u = 1/(x + 3.0) - 0.15625, 0.65 <= x <= 27.3; error
/// 2^-57.65.
inline constexpr double kErfc[] = {0x1.383ede1ebaeaep+2,   0x1.34044fd29ad13p+4,   0x1.e6ab752d06c20p+5,
                                   0x1.1ff7a4f05c6bbp+7,   0x1.a48aad5f56a36p+7,   0x1.28c707c3259f8p+1,
                                   -0x1.7d4fbb33abebap+9,  -0x1.1f3728a0713d9p+10, 0x1.00fd06ac91012p+11,
                                   0x1.d35d1eb527ee7p+12,  -0x1.6d5ab850d6d7ep+12, -0x1.5858a722070b4p+15,
                                   0x1.94ab514e7f549p+14,  0x1.09f8436667b6dp+18,  -0x1.b5e5a647b6729p+17,
                                   -0x1.a99f65ed4903ap+20, 0x1.2ab206d4ab925p+21,  0x1.3f5a537b3995fp+23,
                                   -0x1.573e2560ba9dcp+24, -0x1.4da44af222d2ep+25, 0x1.bab0f0b88d290p+26};
/// (G(u) - G(0)) / u, G = erfc(x) exp(x^2) (x + 2.5), u = 1/(x + 2.5) - 0.1875, 0.65 <= x <= 10.2, in float;
/// error 2^-27.85.
inline constexpr double kErfcFloat[] = {0x1.dfee2a0000000p+1, 0x1.51fdb00000000p+3,  0x1.47b6840000000p+4,
                                        0x1.32f6c40000000p+4, -0x1.4803c20000000p+4, -0x1.32c1ce0000000p+6,
                                        0x1.c814980000000p+2, 0x1.e6fbe60000000p+7};
/// (gamma(1 + f) - 1) / f in f - 1/2, 0 <= f <= 1; error 2^-57.34.
inline constexpr double kGamma[] = {
    -0x1.d203b725884abp-3,  0x1.0a1f2cb08ee8ap-1,  -0x1.ade5f6ebf3e55p-3,  0x1.a4512c0db9baep-3,
    -0x1.f05562634523ap-4,  0x1.659924fbe31a1p-4,  -0x1.d61f2563b321cp-5,  0x1.3d9e9f6c746b0p-5,
    -0x1.a7d4f1b41df5ap-6,  0x1.1b5182f80d673p-6,  -0x1.7a2218e23d8d7p-7,  0x1.f8933778b4af6p-8,
    -0x1.508ecff6495a9p-8,  0x1.c0ad0dee5a3e2p-9,  -0x1.2a9812154c226p-9,  0x1.9056085b68bf1p-10,
    -0x1.1126b82b1316ap-10, 0x1.5cc412d9728d2p-11, -0x1.7ca0123a71653p-12, 0x1.3abab571adac7p-12,
    -0x1.71e079ff02546p-12, 0x1.86b18f34847b4p-13};
/// (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2) x in 1/x^2, x >= 3; error 2^-58.28.
inline constexpr double kStirling[] = {0x1.5555555555547p-4,   -0x1.6c16c16bb7aecp-9, 0x1.a01a002be8ca8p-11,
                                       -0x1.3812d7ed89a0ap-11, 0x1.b9267f3e4f627p-11, -0x1.f3301a7169fcfp-10,
                                       0x1.8c30653e1c319p-8,   -0x1.70565dd0e6f58p-6, 0x1.3d6c0f42fbe01p-4,
                                       -0x1.88fb50b473a7dp-3,  0x1.e334979060ecfp-3};
/// (R(u) - R(0)) / u, R = lgamma(x) / ((x - 1) (x - 2)), u = 1/(x + 3/2) - 0.3125, 1 <= x <= 3; error
/// 2^-58.5.
inline constexpr double kLogGamma[] = {0x1.454563d8d6b1fp+0,  0x1.d53e56afcdcd6p-1,  0x1.cb189392e42bep+1,
                                       0x1.33dd22132d3d3p+2,  0x1.2096645aad992p+4,  0x1.c4a72b4d80fa0p+4,
                                       0x1.a9cd733ba0c21p+6,  0x1.60ff83101355cp+7,  0x1.542f45848d7aap+9,
                                       0x1.1d5d7a7a3c5b5p+10, 0x1.1d8613d910bdap+12, 0x1.d7e789d15f162p+12,
                                       0x1.f17872f43b123p+14, 0x1.89e5a33969f58p+15, 0x1.a9ac39bfd2569p+17,
                                       0x1.548c8ba925805p+18, 0x1.0b71fcc586616p+21, 0x1.23e8763e431ffp+21};

/// 1/k!, each the sum of two parts.
inline constexpr double kFactorials[][2] = {{0x1.0000000000000p+0, 0x0.0p+0},
                                            {0x1.0000000000000p+0, 0x0.0p+0},
                                            {0x1.0000000000000p-1, 0x0.0p+0},
                                            {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                            {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                            {0x1.1111111111111p-7, 0x1.1111111111111p-63},
                                            {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
                                            {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
                                            {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
                                            {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
                                            {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
                                            {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
                                            {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
                                            {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
                                            {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
                                            {0x1.ae7f3e733b81fp-41, 0x1.1d8656b0ee8cbp-97},
                                            {0x1.ae7f3e733b81fp-45, 0x1.1d8656b0ee8cbp-101},
                                            {0x1.952c77030ad4ap-49, 0x1.ac981465ddc6cp-103},
                                            {0x1.6827863b97d97p-53, 0x1.eec01221a8b0bp-107},
                                            {0x1.2f49b46814157p-57, 0x1.2650f61dbdcb4p-112},
                                            {0x1.e542ba4020225p-62, 0x1.ea72b4afe3c2fp-120},
                                            {0x1.71b8ef6dcf572p-66, -0x1.d043ae40c4647p-120},
                                            {0x1.0ce396db7f853p-70, -0x1.aebcdbd20331cp-124},
                                            {0x1.761b41316381ap-75, -0x1.3423c7d91404fp-130},
                                            {0x1.f2cf01972f578p-80, -0x1.9ada5fcc1ab14p-135},
                                            {0x1.3f3ccdd165fa9p-84, -0x1.58ddadf344487p-139},
                                            {0x1.88e85fc6a4e5ap-89, -0x1.71c37ebd16540p-143},
                                            {0x1.d1ab1c2dccea3p-94, 0x1.054d0c78aea14p-149}};
/// 1/(2k + 1), each the sum of two parts.
inline constexpr double kOdds[][2] = {{0x1.0000000000000p+0, 0x0.0p+0},
                                      {0x1.5555555555555p-2, 0x1.5555555555555p-56},
                                      {0x1.999999999999ap-3, -0x1.999999999999ap-57},
                                      {0x1.2492492492492p-3, 0x1.2492492492492p-57},
                                      {0x1.c71c71c71c71cp-4, 0x1.c71c71c71c71cp-58},
                                      {0x1.745d1745d1746p-4, -0x1.745d1745d1746p-59},
                                      {0x1.3b13b13b13b14p-4, -0x1.3b13b13b13b14p-58},
                                      {0x1.1111111111111p-4, 0x1.1111111111111p-60},
                                      {0x1.e1e1e1e1e1e1ep-5, 0x1.e1e1e1e1e1e1ep-61},
                                      {0x1.af286bca1af28p-5, 0x1.af286bca1af28p-59},
                                      {0x1.8618618618618p-5, 0x1.8618618618618p-59},
                                      {0x1.642c8590b2164p-5, 0x1.642c8590b2164p-60},
                                      {0x1.47ae147ae147bp-5, -0x1.eb851eb851eb8p-61},
                                      {0x1.2f684bda12f68p-5, 0x1.2f684bda12f68p-59},
                                      {0x1.1a7b9611a7b96p-5, 0x1.1a7b9611a7b96p-61},
                                      {0x1.0842108421084p-5, 0x1.0842108421084p-60},
                                      {0x1.f07c1f07c1f08p-6, -0x1.f07c1f07c1f08p-61},
                                      {0x1.d41d41d41d41dp-6, 0x1.0750750750750p-60}};
/// B(2k)/(2k (2k - 1)), k from 1 on, each the sum of two parts.
inline constexpr double kStirlingTerms[][2] = {
    {0x1.5555555555555p-4, 0x1.5555555555555p-58},  {-0x1.6c16c16c16c17p-9, 0x1.f49f49f49f49fp-64},
    {0x1.a01a01a01a01ap-11, 0x1.a01a01a01a01ap-71}, {-0x1.3813813813814p-11, 0x1.fb1fb1fb1fb20p-65},
    {0x1.b951e2b18ff23p-11, 0x1.5c3a9ce01b952p-65}, {-0x1.f6ab0d9993c7dp-10, 0x1.f82553c999b0ep-64},
    {0x1.a41a41a41a41ap-8, 0x1.0690690690690p-62},  {-0x1.e4286cb0f5398p-6, 0x1.1efcdab896745p-61},
    {0x1.6fe96381e0680p-3, -0x1.79e2405a71f88p-61}};
/// atan(k/16), each the sum of two parts.
inline constexpr double kAtans[][2] = {{0x0.0p+0, 0x0.0p+0},
                                       {0x1.ff55bb72cfdeap-5, -0x1.c934d86d23f1dp-60},
                                       {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
                                       {0x1.7b97b4bce5b02p-3, 0x1.347b0b4f881cap-58},
                                       {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
                                       {0x1.362773707ebccp-2, -0x1.963a544b672d8p-57},
                                       {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
                                       {0x1.a64eec3cc23fdp-2, -0x1.24dec1b50b7ffp-56},
                                       {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
                                       {0x1.0657e94db30d0p-1, -0x1.d5b495f6349e6p-56},
                                       {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
                                       {0x1.345f01cce37bbp-1, 0x1.1021137c71102p-55},
                                       {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
                                       {0x1.5d58987169b18p-1, 0x1.0028e4bc5e7cap-57},
                                       {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
                                       {0x1.819d0b7158a4dp-1, -0x1.bf76229d3b917p-56},
                                       {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}};

/// 64 zeros, then the binary digits of 2/pi.
inline constexpr uint64_t kTwoOverPiDigits[] = {0,
                                                0xa2f9836e4e441529,
                                                0xfc2757d1f534ddc0,
                                                0xdb6295993c439041,
                                                0xfe5163abdebbc561,
                                                0xb7246e3a424dd2e0,
                                                0x06492eea09d1921c,
                                                0xfe1deb1cb129a73e,
                                                0xe88235f52ebb4484,
                                                0xe99c7026b45f7e41,
                                                0x3991d639835339f4,
                                                0x9c845f8bbdf9283b,
                                                0x1ff897ffde05980f,
                                                0xef2f118b5a0a6d1f,
                                                0x6d367ecf27cb09b7,
                                                0x4f463f669e5fea2d,
                                                0x7527bac7ebe5f17b,
                                                0x3d0739f78a5292ea,
                                                0x6bfb5fb11f8d5d08,
                                                0x56033046fc7b6bab,
                                                0xf0cfbc209af4361d};

}  // namespace ingot::base::math::kernels
