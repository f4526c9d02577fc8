#include "interruption.h"

#include <csignal>

#include "veneer/error.h"

namespace veneer::cli {
namespace {

volatile std::sig_atomic_t noted = 0;

extern "C" void note_interrupt(int signal) {
  noted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interruption::Interruption() : before_interrupt_(std::signal(SIGINT, note_interrupt)), before_terminate_(std::signal(SIGTERM, note_interrupt)) {}

Interruption::~Interruption() {
  std::signal(SIGINT, before_interrupt_);
  std::signal(SIGTERM, before_terminate_);
}

bool interrupted() { return noted != 0; }

void throw_if_interrupted() {
  if (interrupted()) throw Error(ErrorCode::cancelled, "interrupted");
}

}  // namespace veneer::cli
