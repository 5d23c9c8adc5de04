/** What a request asks for, as its sender wrote it: signatures are made over these very characters. */
export interface RequestTarget {
  /** Begins with a slash. */
  readonly path: string;
  /** Without the question mark; empty where there is none. A `#` in it is part of it: Go sends it raw. */
  readonly query: string;
}

/** Splits a request's address. Bun gives the path alone where a request has no usable `Host`. */
export function requestTarget(url: string): RequestTarget {
  const scheme = url.indexOf('://');
  const slash = url.indexOf('/', scheme < 0 || url.startsWith('/') ? 0 : scheme + 3);
  const target = slash < 0 ? '/' : url.slice(slash);
  const question = target.indexOf('?');
  return question < 0
    ? { path: target, query: '' }
    : { path: target.slice(0, question), query: target.slice(question + 1) };
}

/** Takes the configured prefix off a path; a proxy may have taken it off already. */
export function withoutPrefix(path: string, prefix: string): string {
  return prefix !== '' && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
}

/** Decodes percent signs, and leaves what is not a valid sequence as it is. */
export function decodeLeniently(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    // Not every client escapes: a lone percent sign stands for itself.
    return text.replace(/(%[0-9a-f]{2})+/gi, (sequence) => {
      try {
        return decodeURIComponent(sequence);
      } catch {
        // Bytes that are not UTF-8 stay as they were written.
        return sequence;
      }
    });
  }
}
