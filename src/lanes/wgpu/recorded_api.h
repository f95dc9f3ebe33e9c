// wgpu's functions with a recorder before them, for tests that compare what two runs call.
// Thread-safety: one recorder at a time, calls from one thread.
// A call becomes its name and arguments. Objects are numbered as they come up, so that runs can be
// compared; data that comes with its size is taken whole, pass descriptors by their timestamps.
// Polls depend on time and are left out.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lanes/wgpu/wgpu_api.h"

namespace qualia::lanes::wgpu {

class CallRecorder {
 public:
  explicit CallRecorder(const Api& real) : real_(&real) { active() = this; }
  ~CallRecorder() { active() = nullptr; }
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  // wgpu's functions carry no context of ours.
  static CallRecorder*& active() {
    static CallRecorder* recorder = nullptr;
    return recorder;
  }

  const Api& real() const { return *real_; }
  const std::vector<std::string>& calls() const { return calls_; }
  size_t count(std::string_view name) const {
    size_t found = 0;
    for (const std::string& call : calls_) found += call.substr(0, call.find(' ')) == name;
    return found;
  }
  void clear() {
    calls_.clear();
    objects_.clear();
    next_object_ = 0;
  }

  template <typename... A>
  void add(std::string_view name, const A&... arguments) {
    if (name == "DevicePoll") return;
    call_ = name;
    data_ = nullptr;
    (append(arguments), ...);
    calls_.push_back(call_);
  }

 private:
  template <typename T>
  void append(const T& argument) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      call_ += " " + std::to_string(argument);
      if (!data_) return;
      const auto* const bytes = static_cast<const unsigned char*>(data_);
      for (size_t i = 0; i < static_cast<size_t>(argument); ++i) {
        call_ += (i == 0 ? " [" : " ") + std::to_string(bytes[i]);
      }
      data_ = nullptr;
    } else if constexpr (std::is_same_v<T, const void*>) {
      data_ = argument;
    } else if constexpr (std::is_same_v<T, const WGPUComputePassDescriptor*>) {
      call_ += argument->timestampWrites ? " timestamps" : " plain";
    } else if constexpr (std::is_pointer_v<T>) {
      using Pointee = std::remove_pointer_t<T>;
      if constexpr (std::is_const_v<Pointee> || std::is_function_v<Pointee>) {
        call_ += argument ? " given" : " none";
      } else {
        const auto [object, is_new] = objects_.try_emplace(argument, next_object_);
        if (is_new) ++next_object_;
        call_ += " #" + std::to_string(object->second);
        // Its address may be another's next.
        if (call_.find("Release ") != std::string::npos) objects_.erase(object);
      }
    }
  }

  const Api* real_;
  std::vector<std::string> calls_;
  std::map<const void*, size_t> objects_;
  size_t next_object_ = 0;
  std::string call_;
  const void* data_ = nullptr;
};

template <auto kMember, size_t kIndex>
struct RecordedFunction;

inline constexpr std::string_view kApiNames[] = {
#define QUALIA_WGPU_NAME(name) #name,
    QUALIA_WGPU_FUNCTIONS(QUALIA_WGPU_NAME)
#undef QUALIA_WGPU_NAME
};

template <typename R, typename... A, R (*Api::*kMember)(A...), size_t kIndex>
struct RecordedFunction<kMember, kIndex> {
  static R call(A... arguments) {
    CallRecorder& recorder = *CallRecorder::active();
    recorder.add(kApiNames[kIndex], arguments...);
    return (recorder.real().*kMember)(arguments...);
  }
};

namespace api_index {
enum : size_t {
#define QUALIA_WGPU_INDEX(name) name,
  QUALIA_WGPU_FUNCTIONS(QUALIA_WGPU_INDEX)
#undef QUALIA_WGPU_INDEX
};
}  // namespace api_index

// The functions that go through the active recorder, which must outlive every use of them.
inline std::shared_ptr<const Api> recorded_api() {
  auto api = std::make_shared<Api>();
#define QUALIA_WGPU_RECORD(name) api->name = RecordedFunction<&Api::name, api_index::name>::call;
  QUALIA_WGPU_FUNCTIONS(QUALIA_WGPU_RECORD)
#undef QUALIA_WGPU_RECORD
  return api;
}

}  // namespace qualia::lanes::wgpu
