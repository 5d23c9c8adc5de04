/** A reply as it was read. Statuses and errors are texts that begin with `+` and `-`; other texts begin with `$`. */
export type ReadReply = string | number | null | readonly ReadReply[];

/** Reads replies from a stream of bytes, without a part of the product. */
export class RespReplies {
  private unread = '';

  /** Returns the replies that are complete now. */
  read(bytes: Buffer): readonly ReadReply[] {
    this.unread += bytes.toString('latin1');
    const replies: ReadReply[] = [];
    let at = 0;
    for (;;) {
      const found = this.reply(at);
      if (found === undefined) break;
      replies.push(found.reply);
      at = found.end;
    }
    this.unread = this.unread.slice(at);
    return replies;
  }

  private reply(start: number): { readonly reply: ReadReply; readonly end: number } | undefined {
    const lineEnd = this.unread.indexOf('\r\n', start);
    if (lineEnd === -1) return undefined;
    const line = this.unread.slice(start, lineEnd);
    const number = Number(line.slice(1));
    let end = lineEnd + 2;
    if (line[0] === ':') return { reply: number, end };
    if (line[0] !== '$' && line[0] !== '*') return { reply: line, end };
    if (number < 0) return { reply: null, end };
    if (line[0] === '$') {
      if (this.unread.length < end + number + 2) return undefined;
      return { reply: `$${this.unread.slice(end, end + number)}`, end: end + number + 2 };
    }
    const items: ReadReply[] = [];
    while (items.length < number) {
      const item = this.reply(end);
      if (item === undefined) return undefined;
      items.push(item.reply);
      end = item.end;
    }
    return { reply: items, end };
  }
}
