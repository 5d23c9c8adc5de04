import { messageOf } from '../../../runtime/error-code.ts';
import { OperationRefused } from '../../../tenants/operation-refused.ts';

/** Waits for a realtime loop to answer. If it does not, the request is refused as unavailable. */
export async function answered<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    const why = messageOf(error);
    throw new OperationRefused('unavailable', why);
  }
}
