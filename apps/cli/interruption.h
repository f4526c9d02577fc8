// Ctrl-C while something is written: it ends as an error would, which leaves nothing half made behind.
#pragma once

namespace veneer::cli {

// While it lives, the first SIGINT or SIGTERM is noted, and a second one ends the program; afterwards they do what they did before.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  void (*before_interrupt_)(int);
  void (*before_terminate_)(int);
};

bool interrupted();

// Throws Error(cancelled) once a signal was noted. For callbacks of progress.
void throw_if_interrupted();

}  // namespace veneer::cli
