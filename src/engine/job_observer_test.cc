#include "engine/job_observer.h"

#include <gtest/gtest.h>

#include <vector>

#include "veneer/error.h"

namespace veneer::engine {
namespace {

Error error_of(graph::ExecutionErrorEvent event) {
  const JobOptions options;
  const nodes::ImageFolders folders;
  JobObserver observer(options, folders);
  graph::ExecutionResult run;
  run.status = graph::ExecutionStatus::error;
  event.node_id = "5";
  event.node_type = "KSampler";
  run.error = std::move(event);
  try {
    observer.finish(run);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::internal, "no error");
}

TEST(JobObserver, KeepsWhatTheNodeThrewAndPutsTheNodeBefore) {
  graph::ExecutionErrorEvent event;
  event.exception_message = "lora: broken: tensor=a\n";
  event.cause = Error(ErrorCode::corrupt, "lora: broken", {{"tensor", "a"}, {"input", "lora_name"}});
  const Error error = error_of(event);
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  EXPECT_STREQ(error.what(), "lora: broken: node=5, class=KSampler, tensor=a, input=lora_name");
}

TEST(JobObserver, TellsOfOtherExceptionsByTheirFirstLine) {
  graph::ExecutionErrorEvent event;
  event.exception_message = "something odd\na hint for the editor";
  event.exception_type = "RuntimeError";
  const Error error = error_of(event);
  EXPECT_EQ(error.code(), ErrorCode::internal);
  EXPECT_EQ(error.text(), "something odd");
}

TEST(JobObserver, KnowsExhaustedMemoryAndCycles) {
  graph::ExecutionErrorEvent event;
  event.exception_message = "std::bad_alloc\n";
  event.exception_type = "OutOfMemoryError";
  EXPECT_EQ(error_of(event).code(), ErrorCode::no_memory);
  event.exception_type = "graph.DependencyCycleError";
  EXPECT_EQ(error_of(event).code(), ErrorCode::invalid);
}

TEST(JobObserver, TellsOfEachPictureAtOnce) {
  std::vector<SavedImage> told;
  JobOptions options;
  options.on_saved = [&](const SavedImage& image) { told.push_back(image); };
  const nodes::ImageFolders folders{"in", "out", "passing"};
  JobObserver observer(options, folders);
  graph::NodeRef node;
  node.node_id = "7";
  observer.executed(node, graph::Json::parse(R"({"images": [{"filename": "a.png", "subfolder": "x", "type": "output"},
    {"filename": "b.png", "subfolder": "", "type": "temp"}]})"),
                    false);
  observer.executed(node, graph::Json::parse(R"({"text": ["no picture"]})"), false);
  observer.executed(node, graph::Json(), true);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].node, "7");
  EXPECT_EQ(told[0].path, "out/x/a.png");
  EXPECT_EQ(told[1].path, "passing/b.png");
}

TEST(JobObserver, AnInterruptedRunIsCancelled) {
  const JobOptions options;
  const nodes::ImageFolders folders;
  JobObserver observer(options, folders);
  graph::ExecutionResult run;
  run.status = graph::ExecutionStatus::interrupted;
  try {
    observer.finish(run);
    FAIL() << "an interrupted run has no result";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
}

}  // namespace
}  // namespace veneer::engine
