// Evaluations of the networks of SD 1.5 on random weights, as parts of what the machine can do.
#pragma once

#include "bench/machine.h"
#include "bench/report.h"
#include "bench/rounds.h"
#include "models/family/checkpoint.h"

namespace veneer::bench {

// What all groups share.
struct BenchSetup {
  Machine& machine;
  Report& report;
  Rounds rounds;
  bool quick = false;  // the figures with a target, and little else
};

void measure_machine(BenchSetup& setup);
// The UNet at 512x512 and 256x256 in batches of 1, 2 and 4, and the share of ops that are no matrix work.
void measure_unet(BenchSetup& setup, const models::Loaded<models::Unet>& unet);
void measure_text(BenchSetup& setup, const models::LoadedClip& clip);
void measure_vae(BenchSetup& setup, const models::LoadedVae& vae);
// The UNet on one thread, and how much faster all are.
void measure_threads(BenchSetup& setup, const models::Loaded<models::Unet>& unet);
// Points for plots: time of an evaluation over width, batch and threads, in the faster dtype.
void measure_scaling(BenchSetup& setup, const models::Loaded<models::Unet>& unet);

}  // namespace veneer::bench
