#include "models/clip/vocabulary_data.h"

// VENEER_CLIP_VOCABULARY is the file's path, given by the build.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "veneer_clip_vocabulary_begin:\n"
    ".incbin \"" VENEER_CLIP_VOCABULARY
    "\"\n"
    "veneer_clip_vocabulary_end:\n"
    ".byte 0\n"
    ".globl veneer_clip_vocabulary_begin\n"
    ".globl veneer_clip_vocabulary_end\n"
    ".hidden veneer_clip_vocabulary_begin\n"
    ".hidden veneer_clip_vocabulary_end\n"
    ".popsection\n");

extern "C" const std::byte veneer_clip_vocabulary_begin[];
extern "C" const std::byte veneer_clip_vocabulary_end[];

namespace veneer::models {

std::span<const std::byte> clip_vocabulary_gzip() { return {veneer_clip_vocabulary_begin, veneer_clip_vocabulary_end}; }

}  // namespace veneer::models
