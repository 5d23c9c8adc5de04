/** What a reason means. */
export interface ReasonMeaning {
  /** The cause in plain English. Can follow "because"; no full stop. */
  readonly why: string;
  /** What to do about the cause, in whole sentences. `undefined`: nothing, or wait. */
  readonly advice?: string;
  /** Replace the texts above if the device was kept, or removed. */
  readonly kept?: Partial<ReasonMeaning>;
  readonly removed?: Partial<ReasonMeaning>;
  /** Set if the text that comes with the reason adds nothing. */
  readonly saysAll?: true;
  /** Set if that text is this server's own: the details of the cause. */
  readonly hasDetails?: true;
  /** Set if that text is the code of another reason: the cause of this one. */
  readonly hasCause?: true;
}

/** By reason code. */
export type ReasonMeanings = Readonly<Record<string, ReasonMeaning>>;
