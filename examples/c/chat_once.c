// One question, one streamed answer, with the C ABI.
//   chat_once [MODEL.gguf [QUESTION [MAX_TOKENS]]]
// Without a model it takes the default one, fetched into your cache the first time.
#include <qualia/qualia_c.h>

#include <stdio.h>
#include <stdlib.h>

// Longer paths are cut, and then not found.
#define PATH_BYTES 4096

static int print_text(const char* text, size_t size_bytes, void* user_data) {
  (void)user_data;
  fwrite(text, 1, size_bytes, stdout);
  return fflush(stdout);  // not 0 when nobody reads any more: that ends the reply
}

// Each step sets what the next one needs; the first that fails leaves its error to the caller.
static qualia_status chat_once(const char* given_path, const char* question, int64_t max_tokens,
                               qualia_error** error) {
  qualia_runtime* runtime = NULL;
  qualia_model* model = NULL;
  qualia_session* session = NULL;
  qualia_reply* reply = NULL;
  char path[PATH_BYTES] = "";
  size_t path_bytes = 0;

  qualia_status status = qualia_runtime_create(&runtime, error);
  if (status == QUALIA_OK && given_path == NULL)
    status = qualia_runtime_fetch_default_model(runtime, path, sizeof path, &path_bytes, error);
  if (status == QUALIA_OK)
    status = qualia_model_load(runtime, given_path ? given_path : path, NULL, &model, error);
  if (status == QUALIA_OK) status = qualia_session_create(model, &session, error);
  if (status == QUALIA_OK) {
    qualia_generate_options options;
    qualia_generate_options_init(&options, sizeof options);
    options.temperature = 0;  // the best token each time
    options.max_tokens = max_tokens;
    const qualia_generate generate = {&options, print_text, NULL, NULL};
    const qualia_message message = {"user", question, QUALIA_ZSTRING};
    status = qualia_session_chat(session, &message, 1, &generate, &reply, error);
  }
  if (status == QUALIA_OK) {
    qualia_reply_stats stats;
    stats.struct_size = sizeof stats;
    status = qualia_reply_get_stats(reply, &stats, error);
    if (status == QUALIA_OK)
      fprintf(stderr, "\n%u tokens in %.0f ms.\n", (unsigned)stats.completion_tokens,
              stats.prefill_ms + stats.decode_ms);
  }

  qualia_reply_free(reply);
  qualia_session_free(session);
  qualia_model_free(model);
  qualia_runtime_free(runtime);
  return status;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : NULL;
  const char* question = argc > 2 ? argv[2] : "What is the capital of France?";
  const int64_t max_tokens = argc > 3 ? strtol(argv[3], NULL, 10) : -1;
  qualia_error* error = NULL;
  const qualia_status status = chat_once(path, question, max_tokens, &error);
  if (status != QUALIA_OK) fprintf(stderr, "%s\n", qualia_error_message(error));
  qualia_error_free(error);
  putchar('\n');
  return status == QUALIA_OK ? 0 : 1;
}
