#include "server/access.h"

#include <gtest/gtest.h>

namespace veneer::server {
namespace {

unsigned ask(const Access& access, const Pairs& headers, const std::string& path = "/prompt") {
  Request request;
  request.method = "GET";
  request.path = path;
  request.headers = headers;
  const auto refusal = access.check(request);
  return refusal ? refusal->status : 200;
}

TEST(Access, ReadsHosts) {
  EXPECT_EQ(parse_host("LocalHost:80")->host, "localhost");
  EXPECT_EQ(parse_host("[::1]:80")->port, "80");
  for (const char* bad : {"a b", "a/b", "a:8x", "[::1", "[::1]x", "u@h"}) EXPECT_FALSE(parse_host(bad)) << bad;
}

TEST(Access, KnowsLoopbackNames) {
  for (const char* name : {"localhost", "127.0.0.1", "127.9.9.9", "::1", "x.localhost"}) EXPECT_TRUE(is_loopback(name)) << name;
  for (const char* name : {"127.evil.com", "10.0.0.1", "localhost.evil.com", "127.0.0.1.evil.com", ""}) EXPECT_FALSE(is_loopback(name)) << name;
}

TEST(Access, ANameOfTheOutsideIsRefusedOnlyWhereTheServerListensInside) {
  ServerOptions options;
  EXPECT_EQ(ask(Access(options), {{"host", "evil.example"}}), 403U);
  options.allowed_hosts = {"Evil.example"};
  EXPECT_EQ(ask(Access(options), {{"host", "evil.example"}}), 200U);
  options.allowed_hosts.clear();
  options.listen = "0.0.0.0";
  EXPECT_EQ(ask(Access(options), {{"host", "evil.example"}}), 200U);
}

TEST(Access, OriginsAreCompared) {
  const Access access((ServerOptions()));
  const std::string host = "127.0.0.1:8188";
  for (const char* good : {"http://127.0.0.1:8188", "https://127.0.0.1:8188", "http://127.0.0.1", "", "file://"}) {
    EXPECT_EQ(ask(access, {{"host", host}, {"origin", good}}), 200U) << good;
  }
  for (const char* bad : {"http://127.0.0.1:1", "http://localhost:8188", "http://evil", "http://a b", "null"}) {
    EXPECT_EQ(ask(access, {{"host", host}, {"origin", bad}}), 403U) << bad;
  }
}

TEST(Access, CrossSiteRequestsWithoutAnOriginOfTheServersAreRefused) {
  const Access access((ServerOptions()));
  const std::string host = "127.0.0.1:8188";
  EXPECT_EQ(ask(access, {{"host", host}, {"sec-fetch-site", "cross-site"}}), 403U);
  EXPECT_EQ(ask(access, {{"host", host}, {"sec-fetch-site", "cross-site"}}, "/ws"), 403U);
  EXPECT_EQ(ask(access, {{"host", host}, {"sec-fetch-site", "cross-site"}, {"origin", "file://"}}), 403U);
  EXPECT_EQ(ask(access, {{"origin", "null"}}), 403U);
  EXPECT_EQ(ask(access, {{"host", host}, {"sec-fetch-site", "cross-site"}, {"origin", "http://127.0.0.1:8188"}}), 200U);
  for (const char* own : {"same-origin", "none", "same-site"}) EXPECT_EQ(ask(access, {{"host", host}, {"sec-fetch-site", own}}), 200U) << own;
  ServerOptions options;
  options.cors_origin = "https://app.example";
  EXPECT_EQ(ask(Access(options), {{"host", host}, {"sec-fetch-site", "cross-site"}, {"origin", "null"}}), 200U);
}

TEST(Access, KeysOpenTheDoorAndNameTheOwner) {
  ServerOptions options;
  options.api_keys = {{"a", "first-key-0123456789"}, {"b", "second-key-0123456789"}};
  const Access access(options);
  Request request;
  request.method = "GET";
  request.path = "/prompt";
  request.headers = {{"authorization", "bearer second-key-0123456789"}};
  EXPECT_FALSE(access.check(request));
  EXPECT_EQ(request.owner, "b");
  for (const Pairs& bad : {Pairs{}, Pairs{{"authorization", "Bearer "}}, Pairs{{"authorization", "Bearer first-key-012345678"}},
                           Pairs{{"authorization", "Basic !!!"}}, Pairs{{"authorization", "first-key-0123456789"}}, Pairs{{"x-api-key", ""}}}) {
    EXPECT_EQ(ask(access, bad), 401U);
  }
  EXPECT_EQ(ask(access, {}, "/health"), 200U);
}

}  // namespace
}  // namespace veneer::server
