// The textual inversions of a goldens folder: tokenizer/embeddings/NAME.safetensors.
#pragma once

#include "golden_set.h"
#include "models/clip/prompt_tokenizer.h"

namespace veneer::goldens {

// Finds them by name, with or without the ending, and reads each once. Used by one thread at a time.
models::EmbeddingSource golden_embeddings(const Group& group);

}  // namespace veneer::goldens
