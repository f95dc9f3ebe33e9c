// C ABI of qualia: the same library as the C++ headers beside this file, for C99 and for every
// language that can call C. No type of C++ crosses it and no exception leaves it.
//
// Ownership   Every *_create, *_open, *_load and every call with a `qualia_THING**` hands out an
// object
//             that the caller ends with qualia_THING_free; freeing NULL does nothing. Objects keep
//             what they need: a runtime may be freed before its models, a model before its
//             sessions. Strings and arrays that a getter returns belong to the object it was asked
//             of.
// Errors      Fallible functions return a status, QUALIA_OK (0) or one of the codes below, and take
//             `error` last. On failure *error is a new error object (NULL where there was no memory
//             for one); on success it is NULL. `error` itself may be NULL. Results are written on
//             success only. A NULL where a value is needed is QUALIA_INVALID_ARGUMENT, never a
//             crash.
// Threads     Different objects may be used at the same time. Of one object, const functions may
// run
//             side by side, the others and *_free may not; what differs says so.
// Text        UTF-8. Where a size in bytes follows, the text may hold NUL bytes, and QUALIA_ZSTRING
//             stands for the length up to the first NUL.
// Growth      Structs that start with struct_size can gain fields. Fill them with their *_init
// function
//             first; a library that lacks a field which the caller sets refuses the call.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qualia/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a fallible function returns; the comments of qualia/result.h say what each code means.
typedef int32_t qualia_status;
enum {
  QUALIA_OK = 0,
  QUALIA_INVALID_ARGUMENT = 1,
  QUALIA_NOT_FOUND = 2,
  QUALIA_CORRUPT_FILE = 3,
  QUALIA_UNSUPPORTED = 4,
  QUALIA_IO = 5,
  QUALIA_OUT_OF_MEMORY = 6,
  QUALIA_CONTEXT_FULL = 7,
  QUALIA_DEVICE_LOST = 8,
  QUALIA_CANCELLED = 9,
  QUALIA_NUMERIC = 10,
  QUALIA_INTERNAL = 11
};

#define QUALIA_ZSTRING ((size_t)-1)

typedef int32_t qualia_token;

typedef struct qualia_error qualia_error;
typedef struct qualia_runtime qualia_runtime;
typedef struct qualia_tokenizer qualia_tokenizer;
typedef struct qualia_model qualia_model;
typedef struct qualia_session qualia_session;
typedef struct qualia_cancel qualia_cancel;
typedef struct qualia_reply qualia_reply;

// ---- Library ----

// "0.1.0"; valid for ever.
QUALIA_API const char* qualia_version(void);
// "0.1.0 (a1b2c3d4e5f6, Release, gcc 12.2.0)"; valid for ever.
QUALIA_API const char* qualia_build_id(void);
// Log lines at this level and above go to standard error: "trace", "debug", "info", "warn",
// "error", "off". For the whole process, from any thread. Errors: invalid_argument.
QUALIA_API qualia_status qualia_set_log_level(const char* level, qualia_error** error);

// ---- Errors ----

// QUALIA_OK for NULL.
QUALIA_API qualia_status qualia_error_status(const qualia_error* error);
// One sentence in the present tense that names what failed, the value and the limit; "" for NULL.
QUALIA_API const char* qualia_error_message(const qualia_error* error);
QUALIA_API void qualia_error_free(qualia_error* error);

// ---- Runtime: what a process knows before it loads a model (qualia/runtime.h) ----

// Reads qualia's environment variables. Errors: invalid_argument names a variable with a bad value.
QUALIA_API qualia_status qualia_runtime_create(qualia_runtime** runtime, qualia_error** error);
QUALIA_API void qualia_runtime_free(qualia_runtime* runtime);

// The path of the default model, fetched first if it is not in the user's cache (needs the network
// once, and takes minutes). `path` gets up to `capacity` bytes, a NUL included; *size_bytes, the
// whole length without it: with size_bytes >= capacity the path is cut. `path` may be NULL with a
// capacity of 0. Errors: not_found, io.
QUALIA_API qualia_status qualia_runtime_fetch_default_model(const qualia_runtime* runtime,
                                                            char* path, size_t capacity,
                                                            size_t* size_bytes,
                                                            qualia_error** error);

// ---- Model ----

typedef int32_t qualia_kv_type;  // how keys and values are stored
enum { QUALIA_KV_AUTOMATIC = 0, QUALIA_KV_INT8 = 1, QUALIA_KV_F16 = 2, QUALIA_KV_F32 = 3 };

typedef int32_t qualia_precision;  // how exactly the lane computes
enum {
  QUALIA_PRECISION_AUTOMATIC = 0,
  QUALIA_PRECISION_FAST = 1,
  QUALIA_PRECISION_PRECISE = 2,
  QUALIA_PRECISION_EXACT = 3
};

// Called on the loading thread; must not throw or jump out.
typedef void (*qualia_progress_callback)(uint64_t done_bytes, uint64_t total_bytes,
                                         void* user_data);

typedef struct qualia_model_options {
  size_t struct_size;   // set by qualia_model_options_init
  const char* lane;     // NULL or "": qualia chooses
  const char* backend;  // NULL or "": qualia chooses
  uint32_t threads;     // host threads; 0: as many as qualia finds useful
  uint32_t context;     // positions a sequence may have; 0: as many as the model was made for
  qualia_kv_type kv;    // QUALIA_KV_AUTOMATIC: the lane's own
  qualia_precision precision;         // QUALIA_PRECISION_AUTOMATIC: the lane's own
  qualia_progress_callback progress;  // NULL: none
  void* progress_user_data;
  bool in_process;  // a GPU model too, whose driver's failure may then end the process
} qualia_model_options;

// Sets the defaults. Pass sizeof(qualia_model_options) as `struct_size`.
QUALIA_API void qualia_model_options_init(qualia_model_options* options, size_t struct_size);

// Loads the GGUF file at `path`. `options` may be NULL. Errors: not_found (a file, or a lane or
// backend that was asked for: the message lists what there is), corrupt_file, unsupported, io,
// out_of_memory.
QUALIA_API qualia_status qualia_model_load(const qualia_runtime* runtime, const char* path,
                                           const qualia_model_options* options,
                                           qualia_model** model, qualia_error** error);
QUALIA_API void qualia_model_free(qualia_model* model);

typedef struct qualia_model_info {
  size_t struct_size;        // the caller sets sizeof(qualia_model_info)
  const char* path;          // as it was given
  const char* architecture;  // "llama"
  const char* name;          // the file's own name for the model, or ""
  const char* lane;          // where it runs: "reference"
  const char* device;        // "CPU, 2 threads"
  const char* backend;       // "scalar"
  uint64_t weights_bytes;    // of the file's tensors
  uint64_t parameter_count;
  uint32_t vocabulary_size;
  uint32_t trained_context;  // positions
  uint32_t context;          // positions, in force
  bool has_tokenizer;
  bool has_chat_template;
} qualia_model_info;

// Fills the first info->struct_size bytes. The strings live as long as the model.
QUALIA_API qualia_status qualia_model_get_info(const qualia_model* model, qualia_model_info* info,
                                               qualia_error** error);
// Why the model runs where it runs: reason `index` of a chain, first cause first; NULL past its
// end.
QUALIA_API const char* qualia_model_path_reason(const qualia_model* model, size_t index);

// ---- Tokenizer: all functions on it may run side by side ----

// The vocabulary of a GGUF file; its tensors, if any, are not needed. Errors: as qualia_model_load;
// not_found when the file has no tokenizer.
QUALIA_API qualia_status qualia_tokenizer_open(const char* path, qualia_tokenizer** tokenizer,
                                               qualia_error** error);
// The model's own. Errors: what is wrong with it, or not_found when the file has none.
QUALIA_API qualia_status qualia_model_tokenizer(const qualia_model* model,
                                                qualia_tokenizer** tokenizer, qualia_error** error);
QUALIA_API void qualia_tokenizer_free(qualia_tokenizer* tokenizer);

QUALIA_API size_t qualia_tokenizer_vocabulary_size(const qualia_tokenizer* tokenizer);  // NULL: 0

// Text to ids. `add_special` adds BOS and EOS as the file asks; `parse_special` reads control
// tokens such as <|im_start|> in the text. `tokens` gets the first `capacity` ids at most; *count,
// how many there are: with count > capacity some are lacking. `tokens` may be NULL with a capacity
// of 0.
QUALIA_API qualia_status qualia_tokenizer_encode(const qualia_tokenizer* tokenizer,
                                                 const char* text, size_t text_bytes,
                                                 bool add_special, bool parse_special,
                                                 qualia_token* tokens, size_t capacity,
                                                 size_t* count, qualia_error** error);
// Ids to their exact bytes; control tokens give their piece when `with_special`, nothing otherwise.
// `text` gets up to `capacity` bytes, a NUL included; *size_bytes, the whole length without it:
// with size_bytes >= capacity the text is cut. `text` may be NULL with a capacity of 0. Errors:
// invalid_argument names an id outside the vocabulary.
QUALIA_API qualia_status qualia_tokenizer_decode(const qualia_tokenizer* tokenizer,
                                                 const qualia_token* tokens, size_t count,
                                                 bool with_special, char* text, size_t capacity,
                                                 size_t* size_bytes, qualia_error** error);

// ---- Session: replies, streamed ----

typedef struct qualia_logit_bias {
  qualia_token token;
  float bias;  // added to its logit: -1e9 to 1e9, or -INFINITY: never
} qualia_logit_bias;

// Order of application: logit bias, repeat penalty, temperature, top-k, top-p, min-p, draw.
typedef struct qualia_generate_options {
  size_t struct_size;        // set by qualia_generate_options_init
  int64_t max_tokens;        // below 0 (the default): to the end of the turn
  float temperature;         // 0: greedy
  float top_p;               // keep the fewest best that sum to p; 1: all
  float min_p;               // keep those with at least min_p times the best's probability; 0: all
  float repeat_penalty;      // > 1 lowers the logits of recent tokens; 1: off
  uint32_t top_k;            // keep the k best; 0: all
  uint32_t repeat_window;    // tokens that count as recent, prompt included
  uint64_t seed;             // with has_seed
  bool has_seed;             // false: a seed from the system, found in the reply's stats
  bool parse_special;        // complete: read control tokens in the prompt
  bool add_special;          // complete: add BOS as the model's file asks
  const char* const* stops;  // the reply ends before the first of these
  size_t stop_count;
  const qualia_logit_bias* logit_biases;
  size_t logit_bias_count;
} qualia_generate_options;

// Sets the defaults, those of qualia/session.h. Pass sizeof(qualia_generate_options) as
// `struct_size`.
QUALIA_API void qualia_generate_options_init(qualia_generate_options* options, size_t struct_size);

// One turn of a conversation. `role` is NUL-terminated: "system", "user", "assistant" or "tool".
typedef struct qualia_message {
  const char* role;
  const char* content;
  size_t content_bytes;  // or QUALIA_ZSTRING
} qualia_message;

// A piece of finished text, never with part of a UTF-8 character; `text` has `size_bytes` bytes and
// a NUL behind them, and is valid during the call. Returns 0 to go on, anything else to end the
// reply. Called on the thread of the reply's call; must not use that model, throw or jump out.
typedef int (*qualia_text_callback)(const char* text, size_t size_bytes, void* user_data);

// A session keeps its model alive. Calls of several sessions on one model take turns.
QUALIA_API qualia_status qualia_session_create(const qualia_model* model, qualia_session** session,
                                               qualia_error** error);
QUALIA_API void qualia_session_free(qualia_session* session);

// A flag that ends replies, polled at least once per token. _set and _reset may be called at any
// time from any thread, _set from a signal handler too. It must outlive the calls that it was given
// to.
QUALIA_API qualia_status qualia_cancel_create(qualia_cancel** cancel, qualia_error** error);
QUALIA_API void qualia_cancel_set(qualia_cancel* cancel);
QUALIA_API void qualia_cancel_reset(qualia_cancel* cancel);
QUALIA_API void qualia_cancel_free(qualia_cancel* cancel);

// How to generate: every pointer may be NULL.
typedef struct qualia_generate {
  const qualia_generate_options* options;  // NULL: the defaults
  qualia_text_callback on_text;
  void* user_data;  // of on_text
  const qualia_cancel* cancel;
} qualia_generate;

// Each waits for the whole reply. A reply that was cancelled, or stopped by its callback, is a
// success with finish reason QUALIA_FINISH_CANCELLED and the text so far. `generate` may be NULL.
// Errors: invalid_argument when the prompt leaves no room in the context or an option is out of
// range; numeric when the model computes no finite numbers; device_lost.

// Continues `prompt`.
QUALIA_API qualia_status qualia_session_complete(qualia_session* session, const char* prompt,
                                                 size_t prompt_bytes,
                                                 const qualia_generate* generate,
                                                 qualia_reply** reply, qualia_error** error);
// Continues token ids; works without a tokenizer.
QUALIA_API qualia_status qualia_session_complete_tokens(qualia_session* session,
                                                        const qualia_token* tokens, size_t count,
                                                        const qualia_generate* generate,
                                                        qualia_reply** reply, qualia_error** error);
// The assistant's next turn, by the model's chat template; control text in a message stays plain
// text. Errors: also not_found when the model has no template; invalid_argument with the template's
// own sentence when it refuses the messages.
QUALIA_API qualia_status qualia_session_chat(qualia_session* session,
                                             const qualia_message* messages, size_t message_count,
                                             const qualia_generate* generate, qualia_reply** reply,
                                             qualia_error** error);

// ---- Reply ----

typedef int32_t qualia_finish_reason;
enum {
  QUALIA_FINISH_STOP = 0,     // the model ended its turn, or a stop string came
  QUALIA_FINISH_LENGTH = 1,   // max_tokens reached
  QUALIA_FINISH_CONTEXT = 2,  // the context is full
  QUALIA_FINISH_CANCELLED = 3
};

typedef struct qualia_reply_stats {
  size_t struct_size;  // the caller sets sizeof(qualia_reply_stats)
  uint64_t seed;       // that repeats this reply
  double prefill_ms;   // to the first token
  double decode_ms;    // from the first token to the last
  uint32_t prompt_tokens;
  uint32_t completion_tokens;
  uint32_t prefill_tokens;  // computed; prompt tokens found in the cache are not
  uint32_t decode_tokens;   // chosen after the first
} qualia_reply_stats;

// `size_bytes` and `count` may be NULL. The text has a NUL behind its last byte.
QUALIA_API const char* qualia_reply_text(const qualia_reply* reply, size_t* size_bytes);
QUALIA_API const qualia_token* qualia_reply_tokens(const qualia_reply* reply, size_t* count);
QUALIA_API qualia_finish_reason qualia_reply_finish_reason(const qualia_reply* reply);
// Fills the first stats->struct_size bytes.
QUALIA_API qualia_status qualia_reply_get_stats(const qualia_reply* reply,
                                                qualia_reply_stats* stats, qualia_error** error);
QUALIA_API void qualia_reply_free(qualia_reply* reply);

#ifdef __cplusplus
}  // extern "C"
#endif
