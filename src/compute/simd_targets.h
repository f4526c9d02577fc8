// Which instruction sets Highway compiles kernels for: the portable one, AVX2 and AVX-512 (F, BW, CD, DQ, VL). Included before any Highway header.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
