// PluginObject: an object of a plug-in's own on its way between its nodes.
#pragma once

#include <memory>
#include <utility>

namespace veneer::plugins {

class Session;

// Destroys the object by the plug-in's function when the last value that holds it is gone.
class PluginObject {
 public:
  PluginObject(std::shared_ptr<const Session> session, void* data, void (*destroy)(void*))
      : session_(std::move(session)), data_(data), destroy_(destroy) {}
  ~PluginObject() {
    if (destroy_ != nullptr) destroy_(data_);
  }
  PluginObject(const PluginObject&) = delete;
  PluginObject& operator=(const PluginObject&) = delete;

  // Whose it is; for comparison only.
  const void* session() const { return session_.get(); }
  void* data() const { return data_; }

 private:
  std::shared_ptr<const Session> session_;
  void* data_;
  void (*destroy_)(void*);
};

}  // namespace veneer::plugins
