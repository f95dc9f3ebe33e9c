// Included: how the pages of a row are cut into chunks. layers.cpp counts the same way.
override CHUNKS_MAX: u32 = 64u;   // a row has
override DIRECT_PAGES: u32 = 2u;  // so many are one chunk

fn chunk_pages_of(page_count: u32) -> u32 {
  return select((page_count + CHUNKS_MAX - 1u) / CHUNKS_MAX, page_count,
                page_count <= DIRECT_PAGES);
}
