// URLs, forms, routing and files: what needs no socket.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "server/http/file_response.h"
#include "server/http/multipart.h"
#include "server/http/router.h"
#include "server/http/url.h"
#include "veneer/error.h"

namespace veneer::server {
namespace {

namespace fs = std::filesystem;

Request request(const std::string& method, const std::string& path) {
  Request out;
  out.method = method;
  out.path = path;
  return out;
}

TEST(Url, DecodesAndLeavesBrokenEscapes) {
  EXPECT_EQ(percent_decode("a%20b%2Fc%zz%4"), "a b/c%zz%4");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
  EXPECT_EQ(percent_encode("a b/\xC3\xBC"), "a%20b%2F%C3%BC");
}

TEST(Url, ParsesQueries) { EXPECT_EQ(parse_query("a=1&b&=x&&c=%26+"), (Pairs{{"a", "1"}, {"b", ""}, {"", "x"}, {"c", "& "}})); }

TEST(Url, WholeNumbersOnly) {
  EXPECT_EQ(parse_integer("-12"), -12);
  for (const char* text : {"", "1.5", "1 ", "0x1", "99999999999999999999"}) EXPECT_FALSE(parse_integer(text).has_value()) << text;
}

Request form(const std::string& body, const std::string& type = "multipart/form-data; boundary=B") {
  Request out = request("POST", "/");
  out.headers = {{"content-type", type}};
  out.body = body;
  return out;
}

TEST(Multipart, ReadsFilesAndText) {
  const Request posted = form(
      "--B\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nv\r\n--B\r\nContent-Disposition: form-data; name=\"image\"; "
      "filename=\"a\\\"b.png\"\r\nContent-Type: image/png\r\n\r\n\r\n--x\r\n--B--\r\n");
  const auto fields = parse_form(posted);
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].value, "v");
  EXPECT_FALSE(fields[0].is_file);
  EXPECT_EQ(fields[1].filename, "a\"b.png");
  EXPECT_EQ(fields[1].value, "\r\n--x");
  EXPECT_EQ(find_field(fields, "image"), &fields[1]);
  EXPECT_EQ(find_field(fields, "no"), nullptr);
}

TEST(Multipart, TakesTheExtendedFileName) {
  const Request posted = form("--B\r\nContent-Disposition: form-data; name=image; filename=\"x\"; filename*=UTF-8''%C3%BC.png\r\n\r\n\r\n--B--");
  EXPECT_EQ(parse_form(posted).at(0).filename, "\xC3\xBC.png");
}

TEST(Multipart, EveryCutOfAFormIsAnErrorOrAForm) {
  const std::string whole = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nv\r\n--B--\r\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    const Request posted = form(whole.substr(0, size));
    try {
      EXPECT_EQ(parse_form(posted).size(), 1U) << size;
    } catch (const HttpError& error) {
      EXPECT_EQ(error.status(), 400U);
    }
  }
}

TEST(Multipart, RefusesWhatIsNone) {
  for (const Request& bad : {form("x"), form("", "text/plain"), form("--B--", "multipart/form-data"), form("--B\r\n\r\nv\r\n--B--"),
                             form("--B\r\nno colon\r\n\r\nv\r\n--B--")}) {
    EXPECT_THROW(parse_form(bad), HttpError);
  }
}

class RouterTest : public ::testing::Test {
 protected:
  RouterTest() {
    router_.get("/a/{x}", [](const Request& r) { return text_response("x=" + r.parts.at(0), "text/plain"); });
    router_.get("/a/b", [](const Request&) { return text_response("literal", "text/plain"); });
    router_.get("/f/{x}/{rest...}", [](const Request& r) { return text_response(r.parts.at(1), "text/plain"); });
    router_.post("/p", [](const Request&) -> Response { throw Error(ErrorCode::corrupt, "broken"); });
    router_.post("/q", [](const Request&) -> Response { throw HttpError(418, "tea", "pot"); });
    router_.post("/r", [](const Request&) -> Response { throw std::runtime_error("bug"); });
  }
  Response ask(const std::string& method, const std::string& path) const {
    Request asked = request(method, path);
    return router_.handle(asked);
  }
  Router router_;
};

TEST_F(RouterTest, LiteralSegmentsWinAndPartsAreDecoded) {
  EXPECT_EQ(ask("GET", "/a/b").body, "literal");
  EXPECT_EQ(ask("GET", "/a/b%2Fc").body, "x=b/c");
  EXPECT_EQ(ask("GET", "/f/1/d/e.png").body, "d/e.png");
  EXPECT_EQ(ask("GET", "/a/").status, 404U);
  EXPECT_EQ(ask("GET", "/a/b/c").status, 404U);
  EXPECT_EQ(ask("GET", "/A/b").status, 404U);
}

TEST_F(RouterTest, AnotherMethodIs405WithTheMethodsThereAre) {
  const Response response = ask("DELETE", "/a/b");
  EXPECT_EQ(response.status, 405U);
  EXPECT_EQ(*response.find("Allow"), "GET,HEAD,GET,HEAD");
  EXPECT_EQ(ask("GET", "/p").status, 404U);
  EXPECT_EQ(ask("POST", "/none").status, 405U);
  EXPECT_EQ(ask("OPTIONS", "/none").status, 200U);
}

TEST_F(RouterTest, WhatHandlersThrowIsAnswered) {
  EXPECT_EQ(ask("POST", "/p").status, 400U);
  EXPECT_EQ(ask("POST", "/q").status, 418U);
  EXPECT_EQ(ask("POST", "/r").status, 500U);
  EXPECT_NE(ask("POST", "/q").body.find("\"type\": \"tea\""), std::string::npos);
}

TEST(Router, AFullDiskIs507WithoutAPathAndALongNameIs400) {
  Router router;
  const auto fail = [&](const char* path, std::errc code) {
    router.post(std::string(path) + "/error", [code](const Request&) -> Response {
      throw Error(ErrorCode::invalid, "file cannot be written", {{"file", "/secret/x"}, {"reason", std::make_error_code(code).message()}});
    });
    router.post(std::string(path) + "/system",
                [code](const Request&) -> Response { throw fs::filesystem_error("cannot", "/secret/x", std::make_error_code(code)); });
  };
  fail("/full", std::errc::no_space_on_device);
  fail("/long", std::errc::filename_too_long);
  for (const char* kind : {"/error", "/system"}) {
    Request full = request("POST", std::string("/full") + kind);
    const Response response = router.handle(full);
    EXPECT_EQ(response.status, 507U) << kind;
    EXPECT_NE(response.body.find("\"storage\""), std::string::npos);
    EXPECT_EQ(response.body.find("/secret"), std::string::npos);
    Request name = request("POST", std::string("/long") + kind);
    EXPECT_EQ(router.handle(name).status, 400U) << kind;
  }
}

class Files : public ::testing::Test {
 protected:
  Files() : root_(fs::temp_directory_path() / ("veneer_files_" + std::to_string(::getpid()))) {
    fs::create_directories(root_ / "in" / "sub");
    std::ofstream(root_ / "in" / "a.txt") << "0123456789";
    std::ofstream(root_ / "secret") << "s";
    fs::create_symlink(root_, root_ / "in" / "out");
  }
  ~Files() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(Files, PathsStayInsideWithLinksResolved) {
  const fs::path in = root_ / "in";
  EXPECT_TRUE(contained(in, "a.txt"));
  EXPECT_TRUE(contained(in, "sub/../a.txt"));
  EXPECT_TRUE(contained(in, "new/file"));
  EXPECT_TRUE(contained(in, ""));
  for (const std::string& bad :
       {std::string("../secret"), std::string("out/secret"), std::string("/etc/passwd"), std::string("a\0b", 3), std::string("..")}) {
    EXPECT_FALSE(contained(in, bad)) << bad;
  }
}

TEST_F(Files, ANeighbourWhoseNameBeginsAlikeIsOutside) {
  fs::create_directories(root_ / "in2");
  EXPECT_FALSE(contained(root_ / "in", "../in2/x"));
}

TEST_F(Files, Ranges) {
  const auto ask = [&](const std::string& range) {
    Request asked = request("GET", "/");
    if (!range.empty()) asked.headers = {{"range", range}};
    return file_response(asked, root_ / "in" / "a.txt", "text/plain");
  };
  EXPECT_EQ(ask("").file->length, 10U);
  EXPECT_EQ(ask("bytes=2-4").file->offset, 2U);
  EXPECT_EQ(ask("bytes=2-4").file->length, 3U);
  EXPECT_EQ(ask("bytes=-3").file->offset, 7U);
  EXPECT_EQ(ask("bytes=8-99").file->length, 2U);
  EXPECT_EQ(ask("bytes=0-1,3-4").status, 200U);
  for (const char* bad : {"bytes=10-", "bytes=3-2", "bytes=-", "bytes=x-1", "bytes=-0"}) EXPECT_EQ(ask(bad).status, 416U) << bad;
}

TEST(FileTypes, ActiveContentIsKnown) {
  for (const char* name : {"a.HTML", "a.svg", "a.xhtml", "a.js", "a.b.mjs"}) EXPECT_TRUE(is_active_content(name)) << name;
  for (const char* name : {"a.png", "html", ".html", "a.html.png"}) EXPECT_FALSE(is_active_content(name)) << name;
}

}  // namespace
}  // namespace veneer::server
