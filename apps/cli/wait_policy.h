// How long threads that have nothing to do look for work before they sleep.
#pragma once

namespace veneer::cli {

// Starts this program again, once, with a short time in the environment, unless the user chose one (GOMP_SPINCOUNT, OMP_WAIT_POLICY). GCC's OpenMP
// reads it before main() and by default looks for some 10 ms, which two programs on the same cores take from each other's threads at every step.
// Returns when there is nothing to do, and also when that fails: it is slower then, not wrong.
void shorten_waits(char** argv);

}  // namespace veneer::cli
