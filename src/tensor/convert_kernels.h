// Vector loops for the casts of convert.h: the same bits as the scalar functions, on the best instruction set of the machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace veneer::kernels {

void f16_to_f32(const uint16_t* in, size_t count, float* out);
void f32_to_f16(const float* in, size_t count, uint16_t* out);
void bf16_to_f32(const uint16_t* in, size_t count, float* out);
void f32_to_bf16(const float* in, size_t count, uint16_t* out);
void f32_to_f8_e4m3fn(const float* in, size_t count, uint8_t* out);
void f32_to_f8_e5m2(const float* in, size_t count, uint8_t* out);

}  // namespace veneer::kernels
