// APIs of others: OpenAI's images, A1111's, and models with their variants.
#pragma once

#include "server/compat/variant_book.h"
#include "server/compat/web_ui_state.h"
#include "server/http/router.h"
#include "server/services.h"

namespace veneer::server {

// The services, the book and the state have to outlive the router.
void add_variant_routes(Router& router, Services& services, VariantBook& book);
void add_openai_routes(Router& router, Services& services, VariantBook& book);
void add_a1111_routes(Router& router, Services& services, WebUiState& state);

}  // namespace veneer::server
