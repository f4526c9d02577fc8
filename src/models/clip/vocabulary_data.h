// CLIP's byte-pair merges, embedded in the program as the gzip file they are published as.
#pragma once

#include <cstddef>
#include <span>

namespace veneer::models {

// data/bpe_simple_vocab_16e6.txt.gz, byte for byte. Constant for the program's life; reading it costs nothing until its pages are touched.
std::span<const std::byte> clip_vocabulary_gzip();

}  // namespace veneer::models
