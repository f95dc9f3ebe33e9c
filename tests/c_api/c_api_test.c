// The C ABI as a C99 program sees it: compiled with -std=c99 -pedantic, linked to the shared
// library. Run from the source root. Each check that fails prints its line; the exit status says
// whether any did.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qualia/qualia_c.h"

static int failures = 0;

static void expect(int condition, const char* text, int line) {
  if (condition) return;
  ++failures;
  fprintf(stderr, "c_api_test.c:%d: %s is false\n", line, text);
}
#define EXPECT(condition) expect((condition) ? 1 : 0, #condition, __LINE__)

// Ends the program when a call fails that later checks stand on.
static void require_ok(qualia_status status, qualia_error* error, int line) {
  if (status == QUALIA_OK) return;
  fprintf(stderr, "c_api_test.c:%d: %d: %s\n", line, (int)status, qualia_error_message(error));
  exit(1);
}
#define REQUIRE_OK(call)                 \
  do {                                   \
    qualia_error* error = NULL;          \
    const qualia_status status = (call); \
    require_ok(status, error, __LINE__); \
    EXPECT(error == NULL);               \
  } while (0)

typedef struct stream {
  char text[4096];
  size_t size_bytes;
  int pieces;
  int pieces_max;  // then stop
} stream;

static int collect(const char* text, size_t size_bytes, void* user_data) {
  stream* into = user_data;
  EXPECT(text[size_bytes] == '\0');
  if (into->size_bytes + size_bytes >= sizeof(into->text)) return 1;
  memcpy(into->text + into->size_bytes, text, size_bytes + 1);
  into->size_bytes += size_bytes;
  ++into->pieces;
  return into->pieces == into->pieces_max;
}

static qualia_model* load(const char* path) {
  qualia_runtime* runtime = NULL;
  REQUIRE_OK(qualia_runtime_create(&runtime, &error));
  qualia_model_options options;
  qualia_model_options_init(&options, sizeof options);
  options.lane = "reference";
  options.threads = 2;
  options.context = 100;
  qualia_model* model = NULL;
  REQUIRE_OK(qualia_model_load(runtime, path, &options, &model, &error));
  qualia_runtime_free(runtime);
  return model;
}

static void check_info(const qualia_model* model) {
  qualia_model_info info;
  info.struct_size = sizeof info;
  REQUIRE_OK(qualia_model_get_info(model, &info, &error));
  EXPECT(strcmp(info.architecture, "llama") == 0);
  EXPECT(strcmp(info.lane, "reference") == 0);
  EXPECT(info.vocabulary_size == 263);
  EXPECT(info.context == 100);
  EXPECT(info.has_tokenizer && info.has_chat_template);
  EXPECT(qualia_model_path_reason(model, 0) != NULL);
  EXPECT(qualia_model_path_reason(model, 1000) == NULL);
}

static void check_tokenizer(const qualia_model* model) {
  qualia_tokenizer* tokenizer = NULL;
  REQUIRE_OK(qualia_model_tokenizer(model, &tokenizer, &error));
  EXPECT(qualia_tokenizer_vocabulary_size(tokenizer) == 263);
  const char text[] = "a\0b";
  qualia_token ids[8];
  size_t count = 0;
  REQUIRE_OK(qualia_tokenizer_encode(tokenizer, text, 3, false, false, NULL, 0, &count, &error));
  EXPECT(count == 3);
  REQUIRE_OK(qualia_tokenizer_encode(tokenizer, text, 3, false, false, ids, 8, &count, &error));
  char bytes[8];
  size_t size_bytes = 0;
  REQUIRE_OK(qualia_tokenizer_decode(tokenizer, ids, count, false, bytes, 8, &size_bytes, &error));
  EXPECT(size_bytes == 3 && memcmp(bytes, text, 4) == 0);
  qualia_tokenizer_free(tokenizer);
}

static void check_replies(const qualia_model* model) {
  qualia_session* session = NULL;
  REQUIRE_OK(qualia_session_create(model, &session, &error));
  qualia_generate_options options;
  qualia_generate_options_init(&options, sizeof options);
  options.temperature = 0;
  options.max_tokens = 20;
  static stream streamed;
  qualia_generate generate = {&options, collect, &streamed, NULL};

  qualia_reply* reply = NULL;
  const qualia_message question = {"user", "Hello?", QUALIA_ZSTRING};
  REQUIRE_OK(qualia_session_chat(session, &question, 1, &generate, &reply, &error));
  size_t size_bytes = 0;
  const char* text = qualia_reply_text(reply, &size_bytes);
  EXPECT(size_bytes > 0 && size_bytes == streamed.size_bytes);
  EXPECT(memcmp(text, streamed.text, size_bytes + 1) == 0);
  size_t count = 0;
  EXPECT(qualia_reply_tokens(reply, &count) != NULL && count > 0 && count <= 20);
  qualia_reply_stats stats;
  stats.struct_size = sizeof stats;
  REQUIRE_OK(qualia_reply_get_stats(reply, &stats, &error));
  EXPECT(stats.completion_tokens == count && stats.prompt_tokens > 6);
  qualia_reply_free(reply);

  memset(&streamed, 0, sizeof streamed);
  streamed.pieces_max = 2;
  REQUIRE_OK(qualia_session_complete(session, "Once", 4, &generate, &reply, &error));
  EXPECT(qualia_reply_finish_reason(reply) == QUALIA_FINISH_CANCELLED);
  EXPECT(streamed.pieces == 2);
  qualia_reply_free(reply);
  qualia_session_free(session);
}

static void check_errors(const qualia_model* model) {
  qualia_runtime* runtime = NULL;
  REQUIRE_OK(qualia_runtime_create(&runtime, &error));
  qualia_model* none = NULL;
  qualia_error* refusal = NULL;
  EXPECT(qualia_model_load(runtime, "no such file", NULL, &none, &refusal) == QUALIA_NOT_FOUND);
  EXPECT(none == NULL);
  EXPECT(qualia_error_status(refusal) == QUALIA_NOT_FOUND);
  EXPECT(strstr(qualia_error_message(refusal), "no such file") != NULL);
  qualia_error_free(refusal);
  EXPECT(qualia_session_create(model, NULL, NULL) == QUALIA_INVALID_ARGUMENT);
  qualia_runtime_free(runtime);
}

int main(void) {
  EXPECT(strncmp(qualia_build_id(), qualia_version(), strlen(qualia_version())) == 0);
  qualia_model* model = load("tests/data/tiny/q4_0.gguf");
  check_info(model);
  check_tokenizer(model);
  check_replies(model);
  check_errors(model);
  qualia_model_free(model);
  return failures == 0 ? 0 : 1;
}
