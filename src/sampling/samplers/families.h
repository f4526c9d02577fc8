// Every sampler's algorithm, one family per file; sampler.cc names them. Each is called with at least two sigmas.
#pragma once

#include "sampling/sampler.h"

namespace veneer::sampling {

// euler.cc
Tensor sample_euler(SamplerRun& run);
Tensor sample_euler_ancestral(SamplerRun& run);
Tensor sample_euler_cfg_pp(SamplerRun& run);
Tensor sample_euler_ancestral_cfg_pp(SamplerRun& run);
// heun.cc
Tensor sample_heun(SamplerRun& run);
Tensor sample_heunpp2(SamplerRun& run);
// dpm_2.cc
Tensor sample_dpm_2(SamplerRun& run);
Tensor sample_dpm_2_ancestral(SamplerRun& run);
// linear_multistep.cc
Tensor sample_lms(SamplerRun& run);
Tensor sample_ipndm(SamplerRun& run);
Tensor sample_ipndm_v(SamplerRun& run);
Tensor sample_deis(SamplerRun& run);
// dpm_solver.cc
Tensor sample_dpm_fast(SamplerRun& run);
Tensor sample_dpm_adaptive(SamplerRun& run);
// dpmpp_2s.cc
Tensor sample_dpmpp_2s_ancestral(SamplerRun& run);
Tensor sample_dpmpp_2s_ancestral_cfg_pp(SamplerRun& run);
// dpmpp_2m.cc
Tensor sample_dpmpp_2m(SamplerRun& run);
Tensor sample_dpmpp_2m_cfg_pp(SamplerRun& run);
// dpmpp_sde.cc
Tensor sample_dpmpp_sde(SamplerRun& run);
Tensor sample_dpmpp_2m_sde(SamplerRun& run);
Tensor sample_dpmpp_2m_sde_heun(SamplerRun& run);
Tensor sample_dpmpp_3m_sde(SamplerRun& run);
// ddpm.cc
Tensor sample_ddpm(SamplerRun& run);
Tensor sample_lcm(SamplerRun& run);
// res_multistep.cc
Tensor sample_res_multistep(SamplerRun& run);
Tensor sample_res_multistep_cfg_pp(SamplerRun& run);
Tensor sample_res_multistep_ancestral(SamplerRun& run);
Tensor sample_res_multistep_ancestral_cfg_pp(SamplerRun& run);
// gradient_estimation.cc
Tensor sample_gradient_estimation(SamplerRun& run);
Tensor sample_gradient_estimation_cfg_pp(SamplerRun& run);
// er_sde.cc
Tensor sample_er_sde(SamplerRun& run);
// seeds.cc
Tensor sample_seeds_2(SamplerRun& run);
Tensor sample_seeds_3(SamplerRun& run);
// sa_solver.cc
Tensor sample_sa_solver(SamplerRun& run);
Tensor sample_sa_solver_pece(SamplerRun& run);
// uni_pc.cc
Tensor sample_uni_pc(SamplerRun& run);
Tensor sample_uni_pc_bh2(SamplerRun& run);

}  // namespace veneer::sampling
