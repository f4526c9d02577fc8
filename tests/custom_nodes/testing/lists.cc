// Lists that flow element by element, and accumulations, which are lists that flow as one value.
#include <algorithm>

#include "nodes.h"

namespace testing_pack {
namespace {

constexpr int kListSockets = 10;

vp::Node node(const std::string& name, std::string_view shown) { return vp::Node(name).display_name(shown).category("Testing/Lists"); }

std::vector<vp::Value> elements(const vp::Value& list) {
  std::vector<vp::Value> all;
  for (size_t i = 0; i < list.length(); ++i) all.push_back(list[i]);
  return all;
}

vp::Input accumulation() { return vp::socket("accumulation", "ACCUMULATION"); }

size_t place(const vp::Call& call, size_t length) {
  const int64_t index = call.input("index").integer();
  const int64_t from_start = index < 0 ? index + static_cast<int64_t>(length) : index;
  if (from_start < 0 || from_start >= static_cast<int64_t>(length)) throw std::runtime_error("list index out of range");
  return static_cast<size_t>(from_start);
}

void accumulate(vp::Call& call) {
  std::vector<vp::Value> all;
  if (call.has("accumulation")) all = elements(call.input("accumulation"));
  all.push_back(call.input("to_add"));
  call.output(call.list(all));
}

void head(vp::Call& call) {
  std::vector<vp::Value> all = elements(call.input("accumulation"));
  const vp::Value first = all.empty() ? vp::Value() : all.front();
  if (!all.empty()) all.erase(all.begin());
  call.output(call.list(all));
  call.output(first);
}

void tail(vp::Call& call) {
  std::vector<vp::Value> all = elements(call.input("accumulation"));
  const vp::Value last = all.empty() ? vp::Value() : all.back();
  if (!all.empty()) all.pop_back();
  call.output(call.list(all));
  call.output(last);
}

void make_list(vp::Call& call) {
  std::vector<vp::Value> all;
  const std::vector<std::string> given = call.input_names();
  for (int i = 0; i < kListSockets; ++i) {
    const std::string name = "value" + std::to_string(i);
    if (std::ranges::find(given, name) != given.end()) all.push_back(call.input(name));
  }
  call.output(call.list(all));
}

void list_to_accumulation(vp::Call& call) {
  std::vector<vp::Value> all;
  for (size_t i = 0; i < call.length("list"); ++i) all.push_back(call.input("list", i));
  call.output(call.list(all));
}

}  // namespace

void add_lists(vp::Pack& pack) {
  pack.add(
      node("TestAccumulateNode", "Accumulate").inputs({vp::socket("to_add", "*"), accumulation().optional()}).output("ACCUMULATION").run(accumulate));
  pack.add(node("TestAccumulationHeadNode", "Accumulation Head").input(accumulation()).output("ACCUMULATION").output("*").run(head));
  pack.add(node("TestAccumulationTailNode", "Accumulation Tail").input(accumulation()).output("ACCUMULATION").output("*").run(tail));
  pack.add(node("TestAccumulationToListNode", "Accumulation to List").input(accumulation()).list_output("*").run([](vp::Call& call) {
    call.output(call.input("accumulation"));
  }));
  pack.add(node("TestListToAccumulationNode", "List to Accumulation")
               .input(vp::socket("list", "*"))
               .takes_lists()
               .output("ACCUMULATION")
               .run(list_to_accumulation));
  pack.add(node("TestAccumulationGetLengthNode", "Accumulation Get Length").input(accumulation()).output("INT").run([](vp::Call& call) {
    call.output(static_cast<int64_t>(call.input("accumulation").length()));
  }));
  pack.add(node("TestAccumulationGetItemNode", "Accumulation Get Item")
               .inputs({accumulation(), vp::integer("index", 0).step(1)})
               .output("*")
               .run([](vp::Call& call) {
                 const vp::Value list = call.input("accumulation");
                 call.output(list[place(call, list.length())]);
               }));
  pack.add(node("TestAccumulationSetItemNode", "Accumulation Set Item")
               .inputs({accumulation(), vp::integer("index", 0).step(1), vp::socket("value", "*")})
               .output("ACCUMULATION")
               .run([](vp::Call& call) {
                 std::vector<vp::Value> all = elements(call.input("accumulation"));
                 all.at(place(call, all.size())) = call.input("value");
                 call.output(call.list(all));
               }));
  vp::Node lists = node("TestMakeListNode", "Make List").input(vp::socket("value1", "*"));
  for (int i = 0; i < kListSockets; ++i) {
    if (i != 1) lists = std::move(lists).input(vp::socket("value" + std::to_string(i), "*").optional());
  }
  pack.add(std::move(lists).list_output("*").run(make_list));
}

}  // namespace testing_pack
