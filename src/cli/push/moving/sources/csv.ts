import { UsageError } from '../../../output.ts';
import { RECORD_LENGTH_MAX } from './text-source.ts';

/**
 * The records of a text of comma-separated values, each a list of its fields. Empty lines are left out. Throws
 * `UsageError` for a record that is too long, or a quote that has no end. Source: RFC 4180.
 */
export async function* recordsOf(text: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  const reader = new RecordReader();
  for await (const piece of text) {
    for (const record of reader.read(piece)) yield record;
  }
  const last = reader.end();
  if (last !== undefined) yield last;
}

class RecordReader {
  private fields: string[] = [];
  private field = '';
  private length = 0;
  private isQuoted = false;
  /** The last character was a quote in a quoted field: its end, or the first of a pair. */
  private isQuote = false;
  private records = 1;

  *read(piece: string): Generator<readonly string[]> {
    for (const character of piece) {
      if (++this.length > RECORD_LENGTH_MAX) {
        throw new UsageError(
          `record ${this.records} has more than ${RECORD_LENGTH_MAX} characters: a quote may be missing`,
        );
      }
      if (this.isQuoted && !this.isQuote) {
        if (character === '"') this.isQuote = true;
        else this.field += character;
      } else if (this.isQuote && character === '"') {
        this.field += '"';
        this.isQuote = false;
      } else if (character === ',') {
        this.endField();
      } else if (character === '\n') {
        const record = this.endRecord();
        if (record !== undefined) yield record;
      } else if (character === '"' && this.field === '' && !this.isQuoted) {
        this.isQuoted = true;
      } else {
        this.field += character;
      }
    }
  }

  /** The last record, if the text does not end with a line break. */
  end(): readonly string[] | undefined {
    if (this.isQuoted && !this.isQuote) {
      throw new UsageError(`record ${this.records} has a quote that does not end`);
    }
    return this.endRecord();
  }

  private endField(): void {
    this.fields.push(this.field);
    this.field = '';
    this.isQuoted = false;
    this.isQuote = false;
  }

  private endRecord(): readonly string[] | undefined {
    this.field = this.field.replace(/\r$/, '');
    this.endField();
    const { fields } = this;
    this.fields = [];
    this.length = 0;
    this.records++;
    return fields.length === 1 && fields[0] === '' ? undefined : fields;
  }
}
