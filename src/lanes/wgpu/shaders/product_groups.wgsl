  // Included in a function: adds to sums [M][ROWS] what rows first .. first + ROWS of W give with M
  // rows of x. LANES threads share the groups of 32 k, of which this one is number `own`; all loads
  // of weights come before the first use. `words`: scale_words() of a row.
  for (var base = own; base < p.groups; base += LANES * UNROLL) {
    var w: array<vec4<u32>, ROWS * UNROLL * 2u>;
    var s: array<vec4<f32>, ROWS * UNROLL>;
    for (var u = 0u; u < UNROLL; u++) {  // unroll
      let group = min(base + u * LANES, p.groups - 1u);
      for (var r = 0u; r < ROWS; r++) {  // unroll
        let row = min(first + r, p.rows - 1u);
        let place = row * p.groups + group;
        if (IS_INT8) {
          if (CODE == 0u) {
            w[(u * ROWS + r) * 2u] = codes[place];
          } else {
            w[(u * ROWS + r) * 2u] = codes[place * 2u];
            w[(u * ROWS + r) * 2u + 1u] = codes[place * 2u + 1u];
          }
        }
        if (CODE < 2u) {
          s[u * ROWS + r] = group_scales(row * words, group);
        }
      }
    }
    // Groups beyond the row count as zero steps: no branch keeps the loads from each other.
    for (var u = 0u; u < UNROLL; u++) {  // unroll
      let group = min(base + u * LANES, p.groups - 1u);
      let is_inside = base + u * LANES < p.groups;
      for (var m = 0u; m < M; m++) {  // unroll
        if (IS_INT8) {
          for (var part = 0u; part < IN_PARTS; part++) {  // unroll
            let x_place = ((p.first_x + m) * IN_PARTS + part) * p.groups + group;
            let a0 = in_codes[x_place * 2u];
            let a1 = in_codes[x_place * 2u + 1u];
            let x_meta = select(vec4<f32>(0.0), in_meta[x_place], is_inside);
            for (var r = 0u; r < ROWS; r++) {  // unroll
              sums[m * ROWS + r] += int8_term(w[(u * ROWS + r) * 2u], w[(u * ROWS + r) * 2u + 1u],
                                              s[u * ROWS + r], a0, a1, x_meta);
            }
          }
        } else if (is_inside) {
          for (var r = 0u; r < ROWS; r++) {  // unroll
            let row = min(first + r, p.rows - 1u);
            sums[m * ROWS + r] += float_term(row * p.groups + group, s[u * ROWS + r],
                                             ((p.first_x + m) * p.groups + group) * 8u);
          }
        }
      }
    }
  }
