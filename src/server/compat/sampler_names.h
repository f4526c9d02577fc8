// Samplers by the names of the A1111 web UI.
#pragma once

#include <string>
#include <vector>

#include "server/services.h"

namespace veneer::server {

struct SamplerChoice {
  std::string sampler, scheduler;
};
// "Euler a", "DPM++ 2M Karras", or the workflow's own names. `scheduler`: "", "Automatic", "Karras", ... or a workflow's name.
SamplerChoice sampler_choice(const std::string& sampler, const std::string& scheduler);
// "euler_ancestral" -> "Euler a"; names without a web UI form stay.
std::string web_ui_name(const std::string& sampler);

// The choices of an input of KSampler.
std::vector<std::string> choices_of(const Services& services, const char* input);

}  // namespace veneer::server
