// Where a layer's weight comes from: a stored tensor, or rows that are made while they are packed, so that the weight never lies in memory as a
// whole.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "tensor/tensor.h"
#include "tensor/tile.h"

namespace veneer::compute {

class RowSource {
 public:
  virtual ~RowSource() = default;
  // [out, in, ...]
  virtual const Shape& shape() const = 0;
  // A part of the rows as f32. Called from several threads at once; may throw, and may be asked for the same part again.
  virtual void tile(const Tile& tile, const TileValues& out) const = 0;
  // All rows in f32.
  virtual Tensor whole() const;
};

// A handle; copies share what they stand for.
class WeightSource {
 public:
  WeightSource() = default;
  // Implicit, both: a layer is made from either.
  WeightSource(Tensor stored) : shape_(stored.shape()), stored_(std::move(stored)) {}
  WeightSource(std::shared_ptr<const RowSource> made) : shape_(made->shape()), made_(std::move(made)) {}

  bool defined() const { return stored_.defined() || made_ != nullptr; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return made_ != nullptr ? DType::f32 : stored_.dtype(); }
  // What the values can be kept in one by one: see Tensor::plain_dtype().
  DType plain_dtype() const { return made_ != nullptr ? DType::f32 : stored_.plain_dtype(); }
  // The same elements under another shape with as many rows.
  WeightSource reshape(const Shape& shape) const;

  // Undefined where rows are made.
  const Tensor& stored() const { return stored_; }
  const RowSource* made() const { return made_.get(); }
  // The stored tensor, or all rows in f32.
  Tensor whole() const;

 private:
  Shape shape_;
  Tensor stored_;
  std::shared_ptr<const RowSource> made_;
};

}  // namespace veneer::compute
