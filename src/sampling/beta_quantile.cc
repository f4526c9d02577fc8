#include "sampling/beta_quantile.h"

#include <cmath>
#include <initializer_list>
#include <limits>

namespace veneer::sampling {
namespace {

constexpr int kMaxTerms = 500;
constexpr int kMaxIterations = 200;

double log_beta(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

// x^a (1-x)^b / (a B(a,b)) times the continued fraction 1/(1 + d1/(1 + d2/(1 + ...))); converges fast for x < (a+1)/(a+b+2).
double lower_tail(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  double c = 1.0;
  double d = 1.0 - (a + b) * x / (a + 1.0);
  d = 1.0 / (std::abs(d) < kTiny ? kTiny : d);
  double fraction = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1.0;
    for (const double term : {even, odd}) {
      d = 1.0 + term * d;
      d = 1.0 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1.0 + term / c;
      if (std::abs(c) < kTiny) c = kTiny;
      change = c * d;
      fraction *= change;
    }
    if (std::abs(change - 1.0) < std::numeric_limits<double>::epsilon()) break;
  }
  return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta(a, b)) / a * fraction;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  return x < (a + 1) / (a + b + 2) ? lower_tail(x, a, b) : 1.0 - lower_tail(1.0 - x, b, a);
}

}  // namespace

double beta_quantile(double p, double a, double b) {
  if (!(p > 0)) return 0;
  if (p >= 1) return 1;
  // The small side of the distribution: no digits are lost to 1 - x.
  const double half = a == b ? 0.5 : incomplete_beta(0.5, a, b);
  if (p == half) return 0.5;
  if (p > half) return 1.0 - beta_quantile(1.0 - p, b, a);
  double low = 0;
  double high = 0.5;
  // Where the power law of the tail puts it.
  double x = std::exp((std::log(p * a) + log_beta(a, b)) / a);
  if (!(x > low && x < high)) x = 0.25;
  for (int i = 0; i < kMaxIterations; ++i) {
    const double excess = incomplete_beta(x, a, b) - p;
    (excess < 0 ? low : high) = x;
    const double density = std::exp((a - 1) * std::log(x) + (b - 1) * std::log1p(-x) - log_beta(a, b));
    double next = x - excess / density;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::abs(next - x) <= 1e-16 + 4 * std::numeric_limits<double>::epsilon() * x) return next;
    x = next;
  }
  return x;
}

}  // namespace veneer::sampling
