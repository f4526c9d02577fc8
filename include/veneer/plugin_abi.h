// The binary interface between Veneer and node plug-ins: plain C types, nothing else crosses. Plug-ins written in C++ include plugin.h, which wraps
// this.
//
// A plug-in is a shared library that exports one function, `veneer_plugin_v1`. Veneer calls it once after loading the library; it describes its
// node classes with VeneerHost::add_node and returns. It links nothing of Veneer: all it may call is in the table that it is given.
//
// Rules of the border, for both sides:
// - Handles are numbers, never pointers: VeneerCall names one call of a node's function, VeneerValue a value within that call. Both end when the
//   function returns; what is done with them later, or with made-up ones, answers VENEER_ENDED and does nothing.
// - Text is bytes and length, UTF-8, not terminated. Pointers that the host hands out last until the call returns; those that a plug-in hands in
//   are copied before the function returns.
// - Functions of the host may be called from any thread while the call lasts. No exception crosses the border in either direction.
// - The table only grows: `size` says how much of it is there, `revision` goes up with every addition. A change of what is there makes a new version,
//   with another name of the exported function.
#pragma once

#include <cstddef>
#include <cstdint>

#define VENEER_PLUGIN_VERSION 1
#define VENEER_PLUGIN_REVISION 1

extern "C" {

using VeneerCall = uint64_t;
using VeneerValue = uint64_t;  // 0: none

struct VeneerText {
  const char* data;
  size_t length;
};

// What functions answer. Those from INVALID to INTERNAL are the kinds of errors that a node may end with, too.
enum VeneerStatus : int32_t {
  VENEER_OK = 0,
  VENEER_INVALID = 1,      // an argument or input breaks a rule
  VENEER_NOT_FOUND = 2,    // what was named does not exist
  VENEER_CORRUPT = 3,      // bytes do not follow their format
  VENEER_UNSUPPORTED = 4,  // outside of what this can do
  VENEER_NO_MEMORY = 5,
  VENEER_CANCELLED = 6,   // the job was asked to stop: return soon
  VENEER_INTERNAL = 7,    // any other failure
  VENEER_ENDED = 8,       // the handle belongs to no call under way
  VENEER_WRONG_PLACE = 9  // not in this kind of function, e.g. outputs while asked for lazy inputs
};

enum VeneerKind : int32_t {
  VENEER_KIND_NONE = 0,  // absent, or a link that was not evaluated
  VENEER_KIND_BOOLEAN = 1,
  VENEER_KIND_INTEGER = 2,
  VENEER_KIND_NUMBER = 3,
  VENEER_KIND_TEXT = 4,
  VENEER_KIND_JSON = 5,  // null, an array or an object
  VENEER_KIND_TENSOR = 6,
  VENEER_KIND_LIST = 7,
  VENEER_KIND_BLOCKER = 8,
  VENEER_KIND_OBJECT = 9  // anything else: a MODEL, or an object of a plug-in
};

enum VeneerDtype : int32_t {
  VENEER_F32 = 0,
  VENEER_F16 = 1,
  VENEER_BF16 = 2,
  VENEER_U8 = 3,
  VENEER_I32 = 4,
  VENEER_I64 = 5,
  VENEER_OTHER_DTYPE = 6  // of a tensor that is only passed on
};

#define VENEER_MAX_RANK 8

// Row-major, contiguous, slowest dimension first. An IMAGE is [N, H, W, 3] f32 in 0..1, a MASK [N, H, W] f32, a LATENT [N, C, h, w] f32.
struct VeneerTensor {
  int32_t dtype;
  int32_t rank;
  int64_t dims[VENEER_MAX_RANK];
  const void* data;  // read-only
  size_t size_bytes;
};

// The functions of a node class. `size` is sizeof(VeneerNode) as the plug-in was compiled; null members are absent. Each gets `user` and the call and
// answers VENEER_OK, or the kind of its failure after telling the reason with set_error.
struct VeneerNode {
  size_t size;
  void* user;
  int32_t (*run)(void* user, VeneerCall call);                 // add_output, set_ui, graph_..., block_all, progress
  int32_t (*check_lazy)(void* user, VeneerCall call);          // need
  int32_t (*change_fingerprint)(void* user, VeneerCall call);  // set_fingerprint; links are none
  int32_t (*validate)(void* user, VeneerCall call);            // refuse; links are none
  void (*destroy)(void* user);                                 // once, when the class is gone or was not accepted
};

// A list of functions that a plug-in may call; `self` is the first argument of each.
struct VeneerHost {
  size_t size;
  uint32_t version;
  uint32_t revision;
  void* self;

  // --- Only while veneer_plugin_v1 runs ---
  // `description` is JSON (docs/plugins.md). Takes `node->user` over: `destroy` is called in every case, also after a failure.
  int32_t (*add_node)(void* self, VeneerText description, const VeneerNode* node);
  // Why the plug-in cannot work here; nothing of it will be registered.
  void (*refuse_plugin)(void* self, VeneerText reason);

  // --- Errors ---
  // The reason of the failure that the function is about to return, or of a status that a function of this table answered.
  int32_t (*set_error)(void* self, VeneerCall call, VeneerText reason);
  VeneerText (*last_error)(void* self, VeneerCall call);

  // --- Inputs. Each is a list of values: one, or all of them for classes that take lists ---
  int32_t (*input_count)(void* self, VeneerCall call, size_t* count);
  int32_t (*input_name)(void* self, VeneerCall call, size_t index, VeneerText* name);
  // How many values an input has; 0 when it is absent.
  int32_t (*input_length)(void* self, VeneerCall call, VeneerText name, size_t* length);
  // One of them; 0 (none) when there is none of that index.
  int32_t (*input_value)(void* self, VeneerCall call, VeneerText name, size_t index, VeneerValue* value);
  // For `validate`: the type of the output that is linked to the input; empty for constants.
  int32_t (*input_type)(void* self, VeneerCall call, VeneerText name, VeneerText* type);

  // --- Looking at values. The wrong kind answers VENEER_INVALID ---
  int32_t (*value_kind)(void* self, VeneerCall call, VeneerValue value, int32_t* kind);
  int32_t (*value_type)(void* self, VeneerCall call, VeneerValue value, VeneerText* type);
  int32_t (*as_boolean)(void* self, VeneerCall call, VeneerValue value, int32_t* out);
  int32_t (*as_integer)(void* self, VeneerCall call, VeneerValue value, int64_t* out);
  int32_t (*as_unsigned)(void* self, VeneerCall call, VeneerValue value, uint64_t* out);
  int32_t (*as_number)(void* self, VeneerCall call, VeneerValue value, double* out);
  int32_t (*as_text)(void* self, VeneerCall call, VeneerValue value, VeneerText* out);
  int32_t (*as_json)(void* self, VeneerCall call, VeneerValue value, VeneerText* out);  // any value but tensors and objects
  int32_t (*as_tensor)(void* self, VeneerCall call, VeneerValue value, VeneerTensor* out);
  // The pointer that this plug-in gave to make_object under the same type.
  int32_t (*as_object)(void* self, VeneerCall call, VeneerValue value, VeneerText type, void** out);
  int32_t (*list_length)(void* self, VeneerCall call, VeneerValue list, size_t* length);
  int32_t (*list_item)(void* self, VeneerCall call, VeneerValue list, size_t index, VeneerValue* item);

  // --- Making values ---
  int32_t (*make_boolean)(void* self, VeneerCall call, int32_t from, VeneerValue* out);
  int32_t (*make_integer)(void* self, VeneerCall call, int64_t from, VeneerValue* out);
  int32_t (*make_unsigned)(void* self, VeneerCall call, uint64_t from, VeneerValue* out);
  int32_t (*make_number)(void* self, VeneerCall call, double from, VeneerValue* out);
  int32_t (*make_text)(void* self, VeneerCall call, VeneerText from, VeneerValue* out);
  int32_t (*make_json)(void* self, VeneerCall call, VeneerText json, VeneerValue* out);
  // Zeros. `data` may be written until the call ends.
  int32_t (*make_tensor)(void* self, VeneerCall call, VeneerText type, int32_t dtype, const int64_t* dims, int32_t rank, VeneerValue* out,
                         void** data);
  // Calls `destroy` once when the last copy of the value is gone, perhaps on another thread; in every case, also after a failure.
  int32_t (*make_object)(void* self, VeneerCall call, VeneerText type, void* object, void (*destroy)(void*), VeneerValue* out);
  int32_t (*make_list)(void* self, VeneerCall call, const VeneerValue* items, size_t length, VeneerValue* out);
  // A silent one when `message` has no data.
  int32_t (*make_blocker)(void* self, VeneerCall call, VeneerText message, VeneerValue* out);

  // --- What the node is and where it stands. Texts are empty when unknown ---
  VeneerText (*node_id)(void* self, VeneerCall call);
  VeneerText (*prompt_id)(void* self, VeneerCall call);
  int32_t (*prompt_json)(void* self, VeneerCall call, VeneerText* json);         // as it was posted
  int32_t (*extra_pnginfo_json)(void* self, VeneerCall call, VeneerText* json);  // extra_data.extra_pnginfo
  // Whether the job was asked to stop, or the call has ended.
  int32_t (*cancelled)(void* self, VeneerCall call);
  // What this node keeps from prompt to prompt while a node of its id and class stays in the graph; made by `make` at first use.
  int32_t (*state)(void* self, VeneerCall call, void* (*make)(void*), void* argument, void (*destroy)(void*), void** out);

  // --- Results of `run` ---
  int32_t (*add_output)(void* self, VeneerCall call, VeneerValue value);
  int32_t (*add_output_link)(void* self, VeneerCall call, VeneerText node_id, int32_t slot);
  // One blocker in place of all outputs.
  int32_t (*block_all)(void* self, VeneerCall call, VeneerText message);
  // A JSON object whose members are arrays, e.g. {"images": [{...}]}.
  int32_t (*set_ui)(void* self, VeneerCall call, VeneerText json);

  // --- Expansion: nodes that run in the place of this one. `local_id` may be empty ---
  int32_t (*graph_node)(void* self, VeneerCall call, VeneerText class_type, VeneerText local_id, uint32_t* node);
  int32_t (*graph_node_id)(void* self, VeneerCall call, uint32_t node, VeneerText* id);
  int32_t (*graph_set)(void* self, VeneerCall call, uint32_t node, VeneerText input, VeneerValue value);
  int32_t (*graph_link)(void* self, VeneerCall call, uint32_t node, VeneerText input, VeneerText from_id, int32_t slot);
  int32_t (*graph_display)(void* self, VeneerCall call, uint32_t node, VeneerText id);

  // --- The graph around, with what expansions added ---
  int32_t (*view_node)(void* self, VeneerCall call, VeneerText id, VeneerText* class_type, size_t* input_count);
  // A link has `from_id` with data, a constant has not.
  int32_t (*view_input)(void* self, VeneerCall call, VeneerText id, size_t index, VeneerText* name, VeneerText* from_id, int32_t* slot,
                        VeneerValue* value);

  // --- Telling how it goes. Answer VENEER_CANCELLED when the job was asked to stop ---
  int32_t (*progress)(void* self, VeneerCall call, double value, double max, int32_t whole_numbers);
  // The first picture of an IMAGE beside it; `format` is "JPEG" or "PNG", `max_size` the pixels of the longer side.
  int32_t (*preview)(void* self, VeneerCall call, double value, double max, int32_t whole_numbers, VeneerValue image, VeneerText format,
                     int32_t max_size);
  // A line of text on the node.
  int32_t (*progress_text)(void* self, VeneerCall call, VeneerText text);

  // --- Answers of the other functions ---
  int32_t (*need)(void* self, VeneerCall call, VeneerText input);            // check_lazy
  int32_t (*set_fingerprint)(void* self, VeneerCall call, VeneerText json);  // change_fingerprint; NaN never equals anything
  int32_t (*refuse)(void* self, VeneerCall call, VeneerText reason);         // validate
};

// What a plug-in exports under the name veneer_plugin_v1. `host` and what it points to last as long as the node classes. Answers VENEER_OK; anything
// else refuses the plug-in, with the reason told by refuse_plugin.
using VeneerPluginFunction = int32_t (*)(const VeneerHost* host);

}  // extern "C"
