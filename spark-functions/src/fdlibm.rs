//! The functions of Java's `StrictMath` bit by bit: fdlibm 5.3, which its specification names.
//!
//! Where the `libm` crate has a later algorithm, fdlibm's own is here. `sin`, `cos` and `tan` are missing on purpose: Spark calls
//! `java.lang.Math` for them, which uses instructions of the processor's vendor and differs from fdlibm in the last bit.

#![allow(clippy::many_single_char_names)]

pub(crate) use libm::{acos, asin, atan, exp, expm1};

/// Above this no power of e is finite.
const OVERFLOW: f64 = f64::from_bits(0x4086_33ce_8fb9_f87d);

fn high(x: f64) -> u32 {
    (x.to_bits() >> 32) as u32
}

fn with_high(x: f64, high: u32) -> f64 {
    f64::from_bits((u64::from(high) << 32) | (x.to_bits() & 0xffff_ffff))
}

const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
/// Coefficients of the series of `log((1 + s) / (1 - s))`.
const SERIES: [f64; 7] = [
    f64::from_bits(0x3fe5_5555_5555_5593),
    f64::from_bits(0x3fd9_9999_9997_fa04),
    f64::from_bits(0x3fd2_4924_9422_9359),
    f64::from_bits(0x3fcc_71c5_1d8e_78af),
    f64::from_bits(0x3fc7_4664_96cb_03de),
    f64::from_bits(0x3fc3_9a09_d078_c69f),
    f64::from_bits(0x3fc2_f112_df3e_5244),
];
/// 2 to the power of 54, which makes a subnormal number normal.
const TWO_54: f64 = 18_014_398_509_481_984.0;

/// `x` to the power of `y`; one to the power of NaN or an infinity is NaN in Java.
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    if y.is_nan() || (y.is_infinite() && x.abs() == 1.0) {
        return f64::NAN;
    }
    libm::pow(x, y)
}

/// The angle of a point.
pub(crate) fn atan2(y: f64, x: f64) -> f64 {
    const PI_LOW: f64 = f64::from_bits(0x3ca1_a626_3314_5c07);
    if x == 0.0 || y == 0.0 || x == 1.0 || !x.is_finite() || !y.is_finite() {
        return libm::atan2(y, x);
    }
    let exponent = |v: f64| ((high(v) & 0x7fff_ffff) >> 20).cast_signed();
    let ratio = exponent(y) - exponent(x);
    let z = if ratio > 60 {
        std::f64::consts::FRAC_PI_2 + 0.5 * PI_LOW
    } else if x < 0.0 && ratio < -60 {
        0.0
    } else {
        atan((y / x).abs())
    };
    match (x > 0.0, y > 0.0) {
        (true, true) => z,
        (true, false) => -z,
        (false, true) => std::f64::consts::PI - (z - PI_LOW),
        (false, false) => (z - PI_LOW) - std::f64::consts::PI,
    }
}

/// The natural logarithm.
pub(crate) fn log(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < 0.0 || x.is_nan() {
        return f64::NAN;
    }
    if x.is_infinite() {
        return x;
    }
    let (x, scaled) = if high(x) < 0x0010_0000 {
        (x * TWO_54, 54)
    } else {
        (x, 0)
    };
    let fraction = high(x) & 0x000f_ffff;
    // The number is 2^k * (1 + f) with 1 + f between sqrt(2) / 2 and sqrt(2).
    let carry = (fraction + 0x0009_5f64) & 0x0010_0000;
    let f = with_high(x, fraction | (carry ^ 0x3ff0_0000)) - 1.0;
    let exponent = (high(x) >> 20).cast_signed() - 1023 - scaled + (carry >> 20).cast_signed();
    let k = f64::from(exponent);
    if (0x000f_ffff & (2 + fraction)) < 3 {
        if f == 0.0 {
            return if exponent == 0 {
                0.0
            } else {
                k * LN_2_HIGH + k * LN_2_LOW
            };
        }
        let r = f * f * (0.5 - (1.0 / 3.0) * f);
        return if exponent == 0 {
            f - r
        } else {
            k * LN_2_HIGH - ((r - k * LN_2_LOW) - f)
        };
    }
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let [l1, l2, l3, l4, l5, l6, l7] = SERIES;
    let odd = w * (l2 + w * (l4 + w * l6));
    let even = z * (l1 + w * (l3 + w * (l5 + w * l7)));
    let r = even + odd;
    let fraction = fraction.cast_signed();
    if ((fraction - 0x0006_147a) | (0x0006_b851 - fraction)) > 0 {
        let half_square = 0.5 * f * f;
        if exponent == 0 {
            f - (half_square - s * (half_square + r))
        } else {
            k * LN_2_HIGH - ((half_square - (s * (half_square + r) + k * LN_2_LOW)) - f)
        }
    } else if exponent == 0 {
        f - s * (f - r)
    } else {
        k * LN_2_HIGH - ((s * (f - r) - k * LN_2_LOW) - f)
    }
}

/// The natural logarithm of `1 + x`.
pub(crate) fn log1p(x: f64) -> f64 {
    if x == -1.0 {
        return f64::NEG_INFINITY;
    }
    if x < -1.0 || x.is_nan() {
        return f64::NAN;
    }
    let a = high(x) & 0x7fff_ffff;
    if a < 0x3e20_0000 {
        return if a < 0x3c90_0000 { x } else { x - x * x * 0.5 };
    }
    if x.is_infinite() {
        return x;
    }
    let small = if x > 0.0 {
        high(x) < 0x3fda_827a
    } else {
        high(x) <= 0xbfd2_bec3
    };
    // `c` corrects the rounding of 1 + x.
    let (f, k, c, fraction) = if small {
        (x, 0, 0.0, 1)
    } else {
        let huge = x > 0.0 && high(x) >= 0x4340_0000;
        let u = if huge { x } else { 1.0 + x };
        let k = (high(u) >> 20).cast_signed() - 1023;
        let c = match (huge, k > 0) {
            (true, _) => 0.0,
            (false, true) => (1.0 - (u - x)) / u,
            (false, false) => (x - (u - 1.0)) / u,
        };
        let fraction = high(u) & 0x000f_ffff;
        if fraction < 0x0006_a09e {
            (with_high(u, fraction | 0x3ff0_0000) - 1.0, k, c, fraction)
        } else {
            let f = with_high(u, fraction | 0x3fe0_0000) - 1.0;
            (f, k + 1, c, (0x0010_0000 - fraction) >> 2)
        }
    };
    let (half_square, n) = (0.5 * f * f, f64::from(k));
    if fraction == 0 {
        if f == 0.0 {
            return if k == 0 {
                0.0
            } else {
                n * LN_2_HIGH + (c + n * LN_2_LOW)
            };
        }
        let r = half_square * (1.0 - (2.0 / 3.0) * f);
        return if k == 0 {
            f - r
        } else {
            n * LN_2_HIGH - ((r - (n * LN_2_LOW + c)) - f)
        };
    }
    let s = f / (2.0 + f);
    let z = s * s;
    let r = SERIES.iter().rev().fold(0.0, |sum, l| z * (l + sum));
    if k == 0 {
        f - (half_square - s * (half_square + r))
    } else {
        n * LN_2_HIGH - ((half_square - (s * (half_square + r) + (n * LN_2_LOW + c))) - f)
    }
}

/// The cube root, within 0.667 of the last bit.
pub(crate) fn cbrt(x: f64) -> f64 {
    const NORMAL: u32 = 715_094_163;
    const SUBNORMAL: u32 = 696_219_795;
    if x == 0.0 || !x.is_finite() {
        return x + x;
    }
    let a = x.abs();
    // A first guess by the exponent divided by three.
    let guess = if high(a) < 0x0010_0000 {
        let scaled = a * TWO_54;
        with_high(scaled, high(scaled) / 3 + SUBNORMAL)
    } else {
        f64::from_bits(u64::from(high(a) / 3 + NORMAL) << 32)
    };
    let r = guess * guess / a;
    let s = 19.0 / 35.0 + r * guess;
    let better = guess * (5.0 / 14.0 + (45.0 / 28.0) / (s + 99.0 / 70.0 + (-864.0 / 1225.0) / s));
    // Cut to 20 bits and rounded up, so that its square is exact; then one step of Newton's.
    let t = f64::from_bits(u64::from(high(better) + 1) << 32);
    let r = a / (t * t);
    let r = (r - t) / (t + t + r);
    (t + t * r).copysign(x)
}

/// The hyperbolic sine.
pub(crate) fn sinh(x: f64) -> f64 {
    if !x.is_finite() {
        return x + x;
    }
    let (a, half) = (x.abs(), 0.5_f64.copysign(x));
    match high(a) {
        0..0x3e30_0000 => x,
        0x3e30_0000..0x3ff0_0000 => {
            let t = expm1(a);
            half * (2.0 * t - t * t / (t + 1.0))
        }
        0x3ff0_0000..0x4036_0000 => {
            let t = expm1(a);
            half * (t + t / (t + 1.0))
        }
        0x4036_0000..0x4086_2e42 => half * exp(a),
        _ if a <= OVERFLOW => {
            let w = exp(0.5 * a);
            half * w * w
        }
        _ => f64::INFINITY.copysign(x),
    }
}

/// The hyperbolic cosine.
pub(crate) fn cosh(x: f64) -> f64 {
    if !x.is_finite() {
        return x * x;
    }
    let a = x.abs();
    match high(a) {
        h @ 0..0x3fd6_2e43 => {
            let t = expm1(a);
            let w = 1.0 + t;
            if h < 0x3c80_0000 {
                w
            } else {
                1.0 + (t * t) / (w + w)
            }
        }
        0x3fd6_2e43..0x4036_0000 => {
            let t = exp(a);
            0.5 * t + 0.5 / t
        }
        0x4036_0000..0x4086_2e42 => 0.5 * exp(a),
        _ if a <= OVERFLOW => {
            let w = exp(0.5 * a);
            0.5 * w * w
        }
        _ => f64::INFINITY,
    }
}

/// The hyperbolic tangent.
pub(crate) fn tanh(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let a = x.abs();
    let z = match high(a) {
        0..0x3c80_0000 => return x * (1.0 + x),
        0x3c80_0000..0x3ff0_0000 => {
            let t = expm1(-2.0 * a);
            -t / (t + 2.0)
        }
        0x3ff0_0000..0x4036_0000 => 1.0 - 2.0 / (expm1(2.0 * a) + 2.0),
        _ => 1.0,
    };
    z.copysign(x)
}

/// The logarithm to base 10.
pub(crate) fn log10(x: f64) -> f64 {
    const INVERSE_LN_10: f64 = f64::from_bits(0x3fdb_cb7b_1526_e50e);
    const LOG10_2_HIGH: f64 = f64::from_bits(0x3fd3_4413_509f_6000);
    const LOG10_2_LOW: f64 = f64::from_bits(0x3d59_fef3_11f1_2b36);
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < 0.0 {
        return f64::NAN;
    }
    if !x.is_finite() {
        return x + x;
    }
    let (x, scaled) = if high(x) < 0x0010_0000 {
        (x * TWO_54, 54)
    } else {
        (x, 0)
    };
    let exponent = (high(x) >> 20).cast_signed() - 1023 - scaled;
    let negative = u32::from(exponent < 0);
    let y = f64::from(exponent + negative.cast_signed());
    let fraction = with_high(x, (high(x) & 0x000f_ffff) | ((0x3ff - negative) << 20));
    let z = y * LOG10_2_LOW + INVERSE_LN_10 * log(fraction);
    z + y * LOG10_2_HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where later algorithms than fdlibm's differ in the last bit: values of Java 17's `StrictMath`.
    #[test]
    fn last_bits_are_those_of_java() {
        assert_eq!(log(0.829_025_453_735_199_8), -0.187_504_420_174_417_24);
        assert_eq!(log(0.642_580_644_811_169_7), -0.442_262_952_873_560_43);
        assert_eq!(log10(739.04), 2.868_667_944_902_471_2);
        assert_eq!(log1p(-0.433_042_323_176_624_5), -0.567_470_622_090_875);
        assert_eq!(atan2(1.0, -f64::from_bits(1)), 1.570_796_326_794_896_8);
        assert!(pow(1.0, f64::NAN).is_nan() && pow(-1.0, f64::INFINITY).is_nan());
        assert_eq!(pow(f64::NAN, 0.0), 1.0);
        assert_eq!(cbrt(-27.0), -3.0);
        assert_eq!(tanh(-0.0).to_bits(), (-0.0_f64).to_bits());
    }
}
