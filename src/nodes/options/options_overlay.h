// Transformer options added for one evaluation.
#pragma once

#include <utility>

#include "sampling/network.h"
#include "variant/model_options.h"

namespace veneer::nodes {

class OptionsOverlay final : public sampling::NetworkOverlay {
 public:
  explicit OptionsOverlay(variant::TransformerOptions added) : added_(std::move(added)) {}
  const variant::TransformerOptions& added() const { return added_; }

 private:
  variant::TransformerOptions added_;
};

// Lists of `added` behind those of `options`; a replacement of `added` instead of the one at the same position.
variant::TransformerOptions merged(variant::TransformerOptions options, const variant::TransformerOptions& added);

}  // namespace veneer::nodes
