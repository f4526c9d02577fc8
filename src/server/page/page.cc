#include "server/page/page.h"

// The assembler puts the files into the program as they are.
__asm__(
    ".section .rodata\n"
    ".global veneer_page_html, veneer_page_html_end, veneer_page_js, veneer_page_js_end, veneer_page_css, veneer_page_css_end\n"
    ".global veneer_docs_html, veneer_docs_html_end, veneer_docs_js, veneer_docs_js_end\n"
    "veneer_page_html:\n.incbin \"" VENEER_PAGE_FOLDER
    "/page.html\"\nveneer_page_html_end:\n"
    "veneer_page_js:\n.incbin \"" VENEER_PAGE_FOLDER
    "/page.js\"\nveneer_page_js_end:\n"
    "veneer_page_css:\n.incbin \"" VENEER_PAGE_FOLDER
    "/page.css\"\nveneer_page_css_end:\n"
    "veneer_docs_html:\n.incbin \"" VENEER_PAGE_FOLDER
    "/docs.html\"\nveneer_docs_html_end:\n"
    "veneer_docs_js:\n.incbin \"" VENEER_PAGE_FOLDER
    "/docs.js\"\nveneer_docs_js_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const char veneer_page_html[], veneer_page_html_end[];
extern const char veneer_page_js[], veneer_page_js_end[];
extern const char veneer_page_css[], veneer_page_css_end[];
extern const char veneer_docs_html[], veneer_docs_html_end[];
extern const char veneer_docs_js[], veneer_docs_js_end[];
}

namespace veneer::server {

namespace {

PageFile file(const char* begin, const char* end, std::string_view type) { return {std::string_view(begin, static_cast<size_t>(end - begin)), type}; }

PageFile style() { return file(veneer_page_css, veneer_page_css_end, "text/css; charset=utf-8"); }

}  // namespace

std::optional<PageFile> page_file(std::string_view path) {
  if (path == "/" || path == "/index.html") return file(veneer_page_html, veneer_page_html_end, "text/html; charset=utf-8");
  if (path == "/page.js") return file(veneer_page_js, veneer_page_js_end, "application/javascript; charset=utf-8");
  if (path == "/page.css") return style();
  return std::nullopt;
}

std::optional<PageFile> docs_file(std::string_view path) {
  if (path == "/docs" || path == "/docs/") return file(veneer_docs_html, veneer_docs_html_end, "text/html; charset=utf-8");
  if (path == "/docs/docs.js") return file(veneer_docs_js, veneer_docs_js_end, "application/javascript; charset=utf-8");
  if (path == "/docs/page.css") return style();
  return std::nullopt;
}

}  // namespace veneer::server
