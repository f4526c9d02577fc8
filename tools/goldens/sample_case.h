// A whole sampling run described by a case's parameters.
#pragma once

#include "golden_set.h"
#include "sampling/sample.h"

namespace veneer::goldens {

// Fills in sampler, scheduler, steps, cfg, seed, denoise and the step range from params, noise, latent and noise mask from inputs.
void read_sample_params(const Case& golden, sampling::SampleRequest& request);

// Where params list the sigmas: fails the case unless the run will visit the same ones, up to rounding.
void check_sigmas(Case& golden, const sampling::SampleRequest& request);

}  // namespace veneer::goldens
