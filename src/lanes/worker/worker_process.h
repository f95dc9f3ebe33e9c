// A helper process that hosts a lane: started with one end of a socket pair, its words kept from
// its standard error, reaped when it ends. Thread-safety: one owner. Errors: not_found when the
// program is missing; io with the system's reason.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "lanes/worker/file_descriptor.h"
#include "qualia/result.h"

namespace qualia::lanes::worker {

class WorkerProcess {
 public:
  struct Started;
  // Runs `program` with the number of its socket as the one argument: in a process group of its own
  // (Ctrl-C is for the parent), without the parent's descriptors and without the variables that pin
  // a path, since the parent has applied them already.
  static Result<Started> start(const std::filesystem::path& program);

  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  pid_t id() const { return id_; }
  // Readable once the process has ended; -1 where the system has no such descriptors.
  int end_descriptor() const { return end_.get(); }
  // Readable when there are words; -1 once there will be none.
  int words_descriptor() const { return words_.get(); }

  // Reads what the process said. Lines of its log go to ours.
  void read_words();
  const std::string& last_words() const {
    return last_words_;
  }  // the last line that says something

  // Waits until it ends by itself, then kills it; reaps it. How it ended by itself: "exit status
  // 3", "signal SEGV"; empty: it did not. Later calls give the same.
  const std::string& end(std::chrono::milliseconds patience);

 private:
  WorkerProcess(pid_t id, FileDescriptor words);
  bool has_ended(std::chrono::milliseconds patience) const;
  void take_line();
  std::string reap() const;

  pid_t id_;
  FileDescriptor end_;
  FileDescriptor words_;
  std::string line_;
  std::string last_words_;
  bool is_reaped_ = false;
  std::string how_it_ended_;
};

struct WorkerProcess::Started {
  std::unique_ptr<WorkerProcess> process;
  FileDescriptor socket;
};

}  // namespace qualia::lanes::worker
