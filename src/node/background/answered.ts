import { OperationRefused } from '../../tenants/operation-refused.ts';

/** Waits for the answer of a realtime loop; none means that the server is unavailable. */
export async function answered<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OperationRefused('unavailable', why);
  }
}
