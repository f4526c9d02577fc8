// Plug-ins written with the public header, called through the table as a loaded library would, without loading one.
#include <gtest/gtest.h>

#include <thread>

#include "plugins/node_functions.h"
#include "tensor/tensor.h"
#include "veneer/error.h"
#include "veneer/plugin.h"

namespace veneer::plugins {
namespace {

namespace vp = veneer::plugin;

// The classes that `fill` describes. Throws what refuses the plug-in.
template <typename Fill>
std::vector<graph::NodeDef> described(Fill fill) {
  const auto session = std::make_shared<Session>();
  vp::detail::enter(session->host(), fill);
  std::vector<graph::NodeDef> nodes;
  for (DescribedNode& node : session->take_described()) nodes.push_back(make_node(session, std::move(node), "pack"));
  return nodes;
}

graph::NodeDef one(vp::Node node) {
  return std::move(described([&](vp::Pack& pack) { pack.add(std::move(node)); }).at(0));
}

graph::NodeResult run(const graph::NodeDef& def, const graph::Inputs& inputs = {}) {
  const graph::Environment environment;
  graph::NodeContext context(environment);
  return def.run(context, inputs);
}

graph::Inputs with_value(graph::Value value) {
  graph::Inputs inputs;
  inputs.set("value", std::move(value));
  return inputs;
}

const graph::Value& first(const graph::NodeResult& result) { return std::get<graph::Value>(result.outputs.at(0)); }

ErrorCode code_of(const graph::NodeDef& def, const graph::Inputs& inputs = {}) {
  try {
    run(def, inputs);
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "the node did not fail";
  return ErrorCode::internal;
}

TEST(Host, HandsValuesInAndOut) {
  const graph::NodeDef def =
      one(vp::Node("Twice").input(vp::integer("value", 0)).output("INT").run([](vp::Call& call) { call.output(call.input("value").integer() * 2); }));
  EXPECT_EQ(def.module, "custom_nodes.pack");
  EXPECT_EQ(first(run(def, with_value(graph::Value::integer(21)))).as_integer(), 42);
}

TEST(Host, ReadsEveryKindOfValue) {
  const graph::NodeDef def = one(vp::Node("Kind").input(vp::socket("value", "*")).output("STRING").run([](vp::Call& call) {
    const vp::Value value = call.input("value");
    const char* names[] = {"none", "boolean", "integer", "number", "text", "json", "tensor", "list", "blocker", "object"};
    call.output(std::string(names[value.kind()]));
  }));
  const std::pair<graph::Value, const char*> cases[] = {{graph::Value(), "none"},
                                                        {graph::Value::boolean(true), "boolean"},
                                                        {graph::Value::unsigned_integer(UINT64_MAX), "integer"},
                                                        {graph::Value::number(0.5), "number"},
                                                        {graph::Value::text("x"), "text"},
                                                        {graph::Value::json(graph::Json::array()), "json"},
                                                        {graph::Value::of("IMAGE", Tensor::zeros({1, 2, 2, 3}, DType::f32)), "tensor"},
                                                        {graph::Value::list({}), "list"},
                                                        {graph::Value::blocker("m"), "blocker"},
                                                        {graph::Value::of("MODEL", 5), "object"}};
  for (const auto& [value, want] : cases) EXPECT_EQ(first(run(def, with_value(value))).as_text(), want);
}

TEST(Host, MakesTensorsAndChecksWhatTheyAre) {
  const graph::NodeDef def = one(vp::Node("Fill").output("IMAGE").run([](vp::Call& call) {
    const vp::NewTensor image = call.tensor("IMAGE", {1, 2, 2, 3});
    std::ranges::fill(image.floats, 0.25F);
    call.output(image);
  }));
  const graph::NodeResult result = run(def);
  EXPECT_EQ(first(result).get<Tensor>().shape(), (Shape{1, 2, 2, 3}));
  EXPECT_EQ(first(result).get<Tensor>().floats()[11], 0.25F);
  const auto making = [](const std::string& type, const std::vector<int64_t>& shape, int32_t dtype = VENEER_F32) {
    return one(vp::Node("Make").output("*").run([=](vp::Call& call) { call.output(call.tensor(type, shape, dtype)); }));
  };
  EXPECT_EQ(code_of(making("IMAGE", {1, 2, 2, 4})), ErrorCode::invalid);
  EXPECT_EQ(code_of(making("MASK", {2, 2})), ErrorCode::invalid);
  EXPECT_EQ(code_of(making("IMAGE", {1, 2, 2, 3}, VENEER_U8)), ErrorCode::invalid);
  EXPECT_EQ(code_of(making("THING", {0})), ErrorCode::invalid);
  EXPECT_EQ(code_of(making("THING", {-1})), ErrorCode::invalid);
  EXPECT_EQ(code_of(making("THING", {1, 1, 1, 1, 1, 1, 1, 1, 1})), ErrorCode::invalid);
  EXPECT_EQ(code_of(making("THING", {1}, 77)), ErrorCode::invalid);
  EXPECT_EQ(code_of(making("THING", {INT64_MAX, INT64_MAX})), ErrorCode::corrupt);
  EXPECT_NO_THROW(run(making("THING", {3}, VENEER_I64)));
}

TEST(Host, TurnsWhateverAFunctionThrowsIntoAnError) {
  const auto throwing = [](auto thrown) { return one(vp::Node("Fail").run([=](vp::Call&) { throw thrown; })); };
  EXPECT_EQ(code_of(throwing(std::runtime_error("boom"))), ErrorCode::internal);
  EXPECT_EQ(code_of(throwing(vp::Error(VENEER_INVALID, "bad"))), ErrorCode::invalid);
  EXPECT_EQ(code_of(throwing(vp::Error(VENEER_OK, "no error"))), ErrorCode::internal);
  EXPECT_EQ(code_of(throwing(vp::Error(VENEER_CANCELLED, "nobody asked"))), ErrorCode::internal);
  EXPECT_EQ(code_of(throwing(std::bad_alloc())), ErrorCode::no_memory);
  EXPECT_EQ(code_of(throwing(42)), ErrorCode::internal);
  try {
    run(throwing(std::runtime_error("bytes \xff")));
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "bytes ?");
  }
}

TEST(Host, ContainsAPluginThatThrowsAcrossTheBorder) {
  const auto session = std::make_shared<Session>();
  const std::string description = R"({"class": "Bare"})";
  VeneerNode node{};
  node.size = sizeof node;
  node.run = [](void*, VeneerCall) -> int32_t { throw 42; };
  ASSERT_EQ(session->host()->add_node(session->host()->self, {description.data(), description.size()}, &node), VENEER_OK);
  const graph::NodeDef def = make_node(session, std::move(session->take_described().at(0)), "pack");
  EXPECT_EQ(code_of(def), ErrorCode::internal);
}

TEST(Host, RefusesResultsThatAreNotAsDeclared) {
  const auto giving = [](auto give) { return one(vp::Node("Give").output("INT").output("IMAGE,FLOAT").run([=](vp::Call& call) { give(call); })); };
  EXPECT_EQ(code_of(giving([](vp::Call&) {})), ErrorCode::invalid);
  EXPECT_EQ(code_of(giving([](vp::Call& call) { call.output(1); })), ErrorCode::invalid);
  EXPECT_EQ(code_of(giving([](vp::Call& call) { call.output("text"), call.output(0.5); })), ErrorCode::invalid);
  EXPECT_EQ(code_of(giving([](vp::Call& call) { call.output(1), call.output(call.tensor("MASK", {1, 2, 2})); })), ErrorCode::invalid);
  EXPECT_EQ(code_of(giving([](vp::Call& call) { call.output(1), call.output(0.5), call.output(0.5); })), ErrorCode::invalid);
  EXPECT_EQ(code_of(giving([](vp::Call& call) { call.block_all(), call.output(0.5); })), ErrorCode::invalid);
  EXPECT_NO_THROW(run(giving([](vp::Call& call) { call.output(1), call.output(0.5); })));
  EXPECT_EQ(code_of(giving([](vp::Call& call) { call.output(vp::Value()), call.output(0.5); })), ErrorCode::invalid);
  EXPECT_NO_THROW(run(giving([](vp::Call& call) { call.output(1), call.output(call.blocker()); })));
  EXPECT_NO_THROW(run(one(vp::Node("Any").output("*").run([](vp::Call& call) { call.output(vp::Value()); }))));
  EXPECT_TRUE(run(giving([](vp::Call& call) { call.block_all("why"); })).blocks_all);
}

TEST(Host, AnswersHandlesThatEndedOrWereMadeUp) {
  std::optional<vp::Call> kept;
  vp::Value value;
  const graph::NodeDef def = one(vp::Node("Keep").output("INT").run([&](vp::Call& call) {
    if (kept) {
      EXPECT_THROW(call.output(value), vp::Error);  // of another call
      EXPECT_THROW(call.output(vp::Value(call.place(), 99)), vp::Error);
    }
    kept = call;
    value = call.make(1);
    call.output(value);
  }));
  run(def);
  run(def);
  for (int round = 0; round < 2; ++round) {
    EXPECT_THROW(kept->progress(int64_t{1}, int64_t{1}), vp::Error);
    EXPECT_THROW(static_cast<void>(value.integer()), vp::Error);
    EXPECT_THROW(kept->output(1), vp::Error);
    EXPECT_TRUE(kept->cancelled());
    EXPECT_EQ(kept->node_id(), "");
  }
}

TEST(Host, AllowsEachFunctionItsOwnAnswersOnly) {
  const graph::NodeDef def = one(vp::Node("Places")
                                     .input(vp::integer("value", 0))
                                     .validate({"value"},
                                               [](vp::Call& call) {
                                                 EXPECT_THROW(call.output(1), vp::Error);
                                                 EXPECT_THROW(call.progress(1.0, 1.0), vp::Error);
                                                 if (call.input("value").integer() > 5) call.refuse("too much");
                                               })
                                     .change_fingerprint([](vp::Call& call) {
                                       call.fingerprint(vp::Json::list({vp::Json(1), vp::Json("a")}));
                                     })
                                     .check_lazy([](vp::Call& call) { call.need("value"); })
                                     .run([](vp::Call& call) {
                                       EXPECT_THROW(call.need("value"), vp::Error);
                                       EXPECT_THROW(call.refuse("no"), vp::Error);
                                       EXPECT_THROW(call.fingerprint(vp::Json(1)), vp::Error);
                                     }));
  const graph::Environment environment;
  graph::NodeContext context(environment);
  const graph::Inputs inputs = with_value(graph::Value::integer(6));
  EXPECT_EQ(def.validator.check(environment, inputs, {}), "too much");
  EXPECT_EQ(def.validator.check(environment, with_value(graph::Value::integer(1)), {}), std::nullopt);
  EXPECT_EQ(def.change_fingerprint(environment, inputs).dump(), R"([1,"a"])");
  EXPECT_EQ(def.check_lazy_status(context, inputs), std::vector<std::string>{"value"});
  run(def, inputs);
}

TEST(Host, DestroysWhatAPluginOwnsOnce) {
  const auto owned = std::make_shared<int>(0);
  graph::Value object;
  {
    const graph::NodeDef def = one(vp::Node("Own").output("OWNED").run([owned](vp::Call& call) { call.output(call.object("OWNED", owned)); }));
    EXPECT_EQ(owned.use_count(), 2);
    object = first(run(def));
    EXPECT_EQ(owned.use_count(), 3);
  }
  EXPECT_EQ(owned.use_count(), 2) << "the class is gone, the object is not";
  object = graph::Value();
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_THROW(one(vp::Node("").run([owned](vp::Call&) {})), Error);
  EXPECT_EQ(owned.use_count(), 1) << "a class that was not accepted";
}

TEST(Host, RefusesAPluginThatIgnoresItsFaults) {
  EXPECT_THROW(described([](vp::Pack& pack) {
                 pack.add(vp::Node("Good").run([](vp::Call&) {}));
                 try {
                   pack.add(vp::Node("NoRun"));
                 } catch (const vp::Error&) {
                   return;
                 }
               }),
               Error);
}

TEST(Host, ServesAnotherThreadWhileTheCallLasts) {
  const graph::NodeDef def = one(vp::Node("Elsewhere").output("INT").run([](vp::Call& call) { std::thread([&] { call.output(7); }).join(); }));
  EXPECT_EQ(first(run(def)).as_integer(), 7);
}

}  // namespace
}  // namespace veneer::plugins
