// What in a variant's weights explains that its network failed: an adapter's file and tensor, or a weight of the base.
#pragma once

#include "variant/description.h"
#include "veneer/error.h"

namespace veneer::variant {

// For results that hold infinite or undefined numbers, as context of the error. Of the weights that patches made many times larger than the base's,
// the one that grew most: "file", "tensor", "key", "kind", "strength" of the patch that did most of it, and both magnitudes. Without such a weight
// the first one of the base that holds such numbers itself: "file" and "tensor". Empty when neither is there. Computes every patched weight, and
// reads the base where no patch is to blame.
Error::Context suspects(const Description& description);

// An error that the variant's network ended with, beside a patch that gave a weight another shape: names the patch's "file" and "tensor", the
// weight's "key" and both shapes, unless it names a file already. Errors other than of ErrorCode::invalid, and those of other variants, stay as they
// are.
Error with_reshaped_weight(const Error& error, const Description& description);

}  // namespace veneer::variant
