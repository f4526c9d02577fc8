// Rules for the values of flags that CLI11 has no check for. A value that breaks one is a wrong command line.
#pragma once

#include <CLI/CLI.hpp>

namespace veneer::cli {

// A whole number from 0 to 2^64-1 in decimal digits. For `transform`: it drops leading zeros, which would make the number an octal one.
CLI::Validator seed_value();

// Refuses hexadecimal and binary numbers. For `transform`: it drops leading zeros, which would make numbers octal ones.
CLI::Validator decimal_number();

CLI::Validator multiple_of(int divisor);

// A number, where CLI::Range would let "nan" through.
CLI::Validator not_nan();

CLI::Validator not_empty();

// How adapters are applied, as the engine names it. For `transform`: the words of stable-diffusion.cpp become the engine's.
CLI::Validator apply_mode();

}  // namespace veneer::cli
