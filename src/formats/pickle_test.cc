// Pickles put together by hand: what each opcode means, and what is refused.
#include "formats/pickle.h"

#include <gtest/gtest.h>

#include <memory>

#include "veneer/error.h"

namespace veneer::formats {
namespace {

struct Parsed {
  std::string bytes;
  PickleData data;
  NodeId root = 0;
  const PickleNode& top() const { return data[root]; }
};

// Owns a copy: nodes refer to it.
std::unique_ptr<Parsed> parse(std::string_view pickle) {
  auto out = std::make_unique<Parsed>();
  out->bytes = pickle;
  out->root = read_pickle(std::as_bytes(std::span(out->bytes)), 0, "test.pkl", out->data).root;
  return out;
}

std::string literal(const char* text, size_t size) { return {text, size}; }

Error error_of(std::string_view pickle) {
  try {
    (void)parse(pickle);
  } catch (const Error& error) {
    EXPECT_EQ(error.find("file"), "test.pkl");
    return error;
  }
  ADD_FAILURE() << "was accepted";
  return {ErrorCode::internal, ""};
}

TEST(Pickle, NumbersOfEveryProtocol) {
  EXPECT_EQ(parse("K\x07.")->top().integer, 7);
  EXPECT_EQ(parse(literal("M\x01\x02.", 4))->top().integer, 0x201);
  EXPECT_EQ(parse("J\xff\xff\xff\xff.")->top().integer, -1);
  EXPECT_EQ(parse("I42\n.")->top().integer, 42);
  EXPECT_EQ(parse("I01\n.")->top().kind, NodeKind::boolean);
  EXPECT_EQ(parse("L-42L\n.")->top().integer, -42);
  EXPECT_EQ(parse(literal("\x8a\x02\0\xff.", 5))->top().integer, -256);
  EXPECT_EQ(parse(literal("\x8a\x00.", 3))->top().integer, 0);
  EXPECT_EQ(parse("\x8a\x09\x01\x02\x03\x04\x05\x06\x07\x08\x09.")->top().kind, NodeKind::big_integer);
  EXPECT_EQ(parse("F0.5\n.")->top().real, 0.5);
  EXPECT_EQ(parse(literal("G\x3f\xe0\0\0\0\0\0\0.", 10))->top().real, 0.5);
}

TEST(Pickle, TextsOfEveryProtocol) {
  EXPECT_EQ(parse("S'ab'\n.")->top().text, "ab");
  EXPECT_EQ(parse("Vab\n.")->top().text, "ab");
  EXPECT_EQ(parse(literal("X\x02\0\0\0ab.", 8))->top().text, "ab");
  EXPECT_EQ(parse("\x8c\x02"
                  "ab.")
                ->top()
                .text,
            "ab");
  EXPECT_EQ(parse("U\x02"
                  "ab.")
                ->top()
                .text,
            "ab");
  EXPECT_EQ(parse("C\x02"
                  "ab.")
                ->top()
                .kind,
            NodeKind::bytes);
}

TEST(Pickle, ContainersAndTheMemo) {
  const auto list = parse(
      "]q\x01(K\x01K\x02"
      "eh\x01\x86.");  // the list twice in a tuple
  ASSERT_EQ(list->top().kind, NodeKind::tuple);
  EXPECT_EQ(list->top().items[0], list->top().items[1]);
  EXPECT_EQ(list->data[list->top().items[0]].items.size(), 2u);
  const auto dict = parse(
      "}(\x8c\x01"
      "aK\x01\x8c\x01"
      "bK\x02u.");
  EXPECT_EQ(dict->data.find(dict->top(), "b")->integer, 2);
  EXPECT_EQ(dict->data.find(dict->top(), "c"), nullptr);
  EXPECT_EQ(parse("ccollections\nOrderedDict\n)R.")->top().kind, NodeKind::dict);
  EXPECT_EQ(parse("c__builtin__\nset\n](K\x01"
                  "e\x85R.")
                ->top()
                .kind,
            NodeKind::list);
}

TEST(Pickle, AListMayHoldItself) {
  EXPECT_EQ(parse("]q\x01h\x01"
                  "a.")
                ->top()
                .items.size(),
            1u);
}

TEST(Pickle, CallsAreRecordedAndNotMade) {
  const auto call = parse("ctorch._utils\n_rebuild_parameter\nK\x05\x85R.");
  ASSERT_EQ(call->top().kind, NodeKind::call);
  EXPECT_EQ(call->data[call->top().items[0]].text, "torch._utils._rebuild_parameter");
  EXPECT_EQ(call->data[call->top().items[1]].integer, 5);
}

TEST(Pickle, OtherFunctionsAreRefusedByNameHoweverTheyAreNamed) {
  EXPECT_EQ(error_of("cos\nsystem\n\x8c\x02id\x85R.").find("global"), "os.system");
  EXPECT_EQ(error_of("\x8c\x02os\x8c\x06system\x93)R.").find("global"), "os.system");
  EXPECT_EQ(error_of("(S'id'\nios\nsystem\n.").find("global"), "os.system");
  EXPECT_EQ(error_of("cbuiltins\neval\n.").find("global"), "builtins.eval");
  EXPECT_EQ(error_of("c__builtin__\ngetattr\n.").find("global"), "__builtin__.getattr");
  EXPECT_EQ(error_of("ctorch.hub\nload\n.").find("global"), "torch.hub.load");
  EXPECT_EQ(error_of("cpytorch_lightningx\nf\n.").find("global"), "pytorch_lightningx.f");
  EXPECT_EQ(error_of("cos\nsystem\n.").code(), ErrorCode::unsupported);
}

TEST(Pickle, CallsOfWhatIsNoFunctionAreRefusedByTheirTarget) {
  EXPECT_EQ(error_of("\x8c\x09os.system)R.").find("callable"), "os.system");
  EXPECT_EQ(error_of("ctorch\nFloatStorage\n)R.").find("callable"), "torch.FloatStorage");
  EXPECT_EQ(error_of("K\x01)R.").find("callable"), "an integer");
  EXPECT_EQ(error_of("ctorch\nFloatStorage\n)R.").find("opcode"), "REDUCE");
}

TEST(Pickle, ObjectsOfTrainersAreForgotten) {
  EXPECT_EQ(parse("cpytorch_lightning.callbacks\nModelCheckpoint\n)\x81}b.")->top().kind, NodeKind::opaque);
  EXPECT_EQ(parse("cargparse\nNamespace\n)R}(K\x01K\x02ub.")->top().kind, NodeKind::opaque);
}

TEST(Pickle, StackFaultsAreErrors) {
  for (const char* pickle : {".", "0.", "a.", "]K\x01.", "(.", "t.", "u.", "}(K\x01u.", "h\x01.", "\x85.",
                             ("K\x01"
                              "b."),
                             "(a.", "]]a]s.", "R.", "Q.", "q\x01."}) {
    EXPECT_EQ(error_of(pickle).code(), ErrorCode::corrupt) << pickle;
  }
}

TEST(Pickle, OpcodesThatModelsDoNotNeedAreRefused) {
  for (const char* pickle : {"Pid\n.", "\x82\x01.", "\x97.", "\x98.", "!.", "\xff."})
    EXPECT_EQ(error_of(pickle).code(), ErrorCode::unsupported) << pickle;
  EXPECT_EQ(error_of("\x80\x06.").code(), ErrorCode::unsupported);
}

TEST(Pickle, LengthsBeyondTheEndAreTruncation) {
  for (const std::string& pickle : {literal("X\xff\xff\xff\xff"
                                            "a.",
                                            7),
                                    literal("\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"
                                            "a.",
                                            11),
                                    literal("\x8b\xff\xff\xff\x7f.", 6), literal("\x95\xff\xff\xff\xff\xff\xff\xff\xff.", 10), std::string("K"),
                                    std::string("Vabc"), std::string("")}) {
    EXPECT_NE(error_of(pickle).text().find("truncated"), std::string::npos);
  }
}

// A list is doubled with every step: ten thousand bytes that ask for 2^2000 elements.
TEST(Pickle, WorkThatGrowsFasterThanThePickleIsCutShort) {
  std::string bomb = "]q\x01(";
  bomb += std::string(60'000, 'N') + "e";
  for (int i = 0; i < 2000; ++i) bomb += "ccollections\nOrderedDict\n0c__builtin__\nlist\nh\x01\x85R";
  EXPECT_EQ(error_of(bomb + ".").text(), "pickle: too many values");
  EXPECT_EQ(error_of(std::string(9'000'000, '(')).text(), "pickle: too many values");
  EXPECT_EQ(error_of(std::string(2'000'000, ']')).text(), "pickle: too many values");
}

}  // namespace
}  // namespace veneer::formats
