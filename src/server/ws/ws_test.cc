// Queues and addresses of web sockets, without sockets.
#include <gtest/gtest.h>

#include "server/events/messages.h"
#include "server/events/progress_book.h"
#include "server/ws/hub.h"
#include "server/ws/send_queue.h"

namespace veneer::server {
namespace {

class FakeClient : public Client {
 public:
  explicit FakeClient(bool metadata = false) : metadata_(metadata) {}
  void send(const Outgoing& message) override { got.push_back(*message.data); }
  bool wants_metadata() const override { return metadata_; }
  std::vector<std::string> got;

 private:
  bool metadata_;
};

Outgoing of_kind(size_t size, Outgoing::Kind kind) { return {std::make_shared<const std::string>(size, 'x'), kind}; }

TEST(SendQueue, GivesMessagesInOrderAndSaysWhenToStart) {
  SendQueue queue({});
  EXPECT_EQ(queue.push(outgoing_text("a")), SendQueue::Push::start);
  EXPECT_EQ(queue.push(outgoing_text("b")), SendQueue::Push::queued);
  EXPECT_EQ(*queue.pop()->data, "a");
  EXPECT_EQ(*queue.pop()->data, "b");
  EXPECT_FALSE(queue.pop());
  EXPECT_EQ(queue.push(outgoing_text("c")), SendQueue::Push::start);
}

TEST(SendQueue, LeavesPreviewsOutBeforeItGivesTheClientUp) {
  SendQueue queue({.max_bytes = 100, .max_droppable = 10});
  queue.push(of_kind(20, Outgoing::Kind::text));
  queue.push(of_kind(20, Outgoing::Kind::preview));
  queue.push(of_kind(20, Outgoing::Kind::status));
  EXPECT_EQ(queue.bytes(), 20U);
  queue.push(of_kind(80, Outgoing::Kind::text));
  EXPECT_EQ(queue.push(of_kind(1, Outgoing::Kind::text)), SendQueue::Push::overflow);
  EXPECT_EQ(queue.bytes(), 0U);
  EXPECT_EQ(queue.push(of_kind(1, Outgoing::Kind::text)), SendQueue::Push::queued);
  EXPECT_FALSE(queue.pop());
}

TEST(Hub, ASecondSocketTakesOverAndTheFirstDoesNotTakeItBack) {
  Hub hub;
  const auto first = std::make_shared<FakeClient>();
  const auto second = std::make_shared<FakeClient>();
  hub.add("id", first, {outgoing_text("hello")});
  hub.add("id", second, {});
  hub.send("id", outgoing_text("x"));
  hub.remove("id", first.get());
  hub.broadcast(outgoing_text("y"));
  EXPECT_EQ(first->got, std::vector<std::string>{"hello"});
  EXPECT_EQ(second->got, (std::vector<std::string>{"x", "y"}));
  hub.remove("id", second.get());
  EXPECT_EQ(hub.size(), 0U);
}

TEST(Hub, MessagesOfNobodyAreLost) {
  Hub hub;
  const auto client = std::make_shared<FakeClient>();
  hub.add("id", client, {});
  hub.send("", outgoing_text("x"));
  hub.send("other", outgoing_text("x"));
  EXPECT_TRUE(client->got.empty());
}

TEST(Hub, PreviewsAreMadeOnceAndOnlyForThoseWhoWantTheForm) {
  Hub hub;
  const auto plain = std::make_shared<FakeClient>();
  const auto meta = std::make_shared<FakeClient>(true);
  hub.add("a", plain, {});
  hub.add("b", meta, {});
  int made = 0;
  const auto make = [&] {
    ++made;
    return outgoing_text("p");
  };
  hub.send_preview("", Hub::PreviewForm::plain, make);
  hub.send_preview("b", Hub::PreviewForm::plain, make);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(plain->got.size(), 1U);
  EXPECT_TRUE(meta->got.empty());
}

TEST(Messages, AreWrittenAsOnTheWire) {
  EXPECT_EQ(*status_message(3, "s").data, R"({"type": "status", "data": {"status": {"exec_info": {"queue_remaining": 3}}, "sid": "s"}})");
  EXPECT_EQ(*text_frame("12", "h").data, std::string("\0\0\0\3\0\0\0\2", 8) + "12h");
  EXPECT_EQ(*preview_frame("pic", "PNG").data, std::string("\0\0\0\1\0\0\0\2", 8) + "pic");
}

TEST(Messages, BytesThatAreNotUtf8AreReplaced) { EXPECT_NE(message("t", graph::Json("\xFF")).data->find("\\ufffd"), std::string::npos); }

graph::NodeRef node(const std::string& id) { return {id, id, std::nullopt, id, "A"}; }

TEST(ProgressBook, KeepsTheFormsOfNumbers) {
  ProgressBook book("p");
  book.started(node("1"));
  EXPECT_NE(book.data().find("\"value\": 0.0, \"max\": 1.0, \"state\": \"running\""), std::string::npos);
  book.reported(node("1"), {.value = 1, .max = 20, .integral = true, .preview = {}});
  EXPECT_NE(book.data().find("\"value\": 1, \"max\": 20,"), std::string::npos);
  book.finished(node("1"), false);
  EXPECT_NE(book.data().find("\"value\": 20, \"max\": 20, \"state\": \"finished\""), std::string::npos);
  book.finished(node("2"), true);
  EXPECT_NE(book.data().find("\"value\": 1, \"max\": 1, \"state\": \"finished\", \"node_id\": \"2\""), std::string::npos);
}

TEST(ProgressBook, ItsMessagesDoNotGrowWithTheNodesThatAreDone) {
  ProgressBook book("p");
  for (int i = 0; i < 5000; ++i) {
    book.started(node(std::to_string(i)));
    book.finished(node(std::to_string(i)), false);
  }
  EXPECT_LT(book.data().size(), 1000U);
}

}  // namespace
}  // namespace veneer::server
