/** Reads commands from a stream of bytes: arrays of texts, as all clients send them. */
export class RequestReader {
  private unread = '';

  /** Returns the commands that are complete now. */
  read(bytes: Buffer): readonly (readonly string[])[] {
    this.unread += bytes.toString('latin1');
    const commands: string[][] = [];
    let at = 0;
    for (;;) {
      const found = this.command(at);
      if (found === undefined) break;
      commands.push(found.words);
      at = found.end;
    }
    this.unread = this.unread.slice(at);
    return commands;
  }

  private command(start: number): { readonly words: string[]; readonly end: number } | undefined {
    const count = this.length(start, '*');
    if (count === undefined) return undefined;
    const words: string[] = [];
    let at = count.end;
    for (let n = 0; n < count.value; n += 1) {
      const length = this.length(at, '$');
      if (length === undefined || length.end + length.value + 2 > this.unread.length) {
        return undefined;
      }
      words.push(this.unread.slice(length.end, length.end + length.value));
      at = length.end + length.value + 2;
    }
    return { words, end: at };
  }

  private length(
    start: number,
    kind: string,
  ): { readonly value: number; readonly end: number } | undefined {
    const end = this.unread.indexOf('\r\n', start);
    if (end === -1) return undefined;
    if (this.unread[start] !== kind) throw new Error('this client does not send arrays of texts');
    return { value: Number(this.unread.slice(start + 1, end)), end: end + 2 };
  }
}
