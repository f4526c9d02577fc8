// The quantile function of the beta distribution.
#pragma once

namespace veneer::sampling {

// The x with I_x(a, b) = p, where I is the regularised incomplete beta function; p in [0, 1], a and b > 0. Accurate to about 1e-13.
// Source: the continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), inverted by safeguarded Newton steps.
double beta_quantile(double p, double a, double b);

}  // namespace veneer::sampling
