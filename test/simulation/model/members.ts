import { createRegister, done, endsBy, type Register, type Write } from './register.ts';
import { ModelError } from './told.ts';

/** A request that makes a user a member of an organization, or ends that. */
export interface MembershipChange {
  /** It was answered as done. */
  done(): void;
  refused(): void;
  /** No answer came. @param mayStill false: it is too late for it to happen after now */
  lost(mayStill: boolean): void;
}

export interface MembersCheck {
  change(isMember: boolean): MembershipChange;
  /** The user begins to ask for something of the organization. @returns takes whether he got it; else it does not exist for him. @throws ModelError */
  asks(what: string): (isGiven: boolean) => void;
  /** A backup was put back: nobody knows. */
  restored(): void;
}

/** What belongs to an organization its members read, and nobody else: from the answer on that ends a membership, not this user either. */
export function createMembersCheck(): MembersCheck {
  let events = 0;
  let isMember = createRegister(false);

  const ended = (write: Write<boolean>): MembershipChange => ({
    done: () => done(write, ++events),
    refused() {
      if (!write.isCertain) write.isVoid = true;
    },
    lost(mayStill) {
      if (!mayStill) endsBy(write, ++events);
    },
  });

  return {
    change: (next) => ended(isMember.begin(next, ++events)),
    asks(what) {
      const from = ++events;
      const register: Register<boolean> = isMember;
      return (isGiven) => {
        if (register !== isMember) return;
        const found = register.possible(from, ++events);
        if (!found.some(({ value }) => value === isGiven))
          throw new ModelError(
            `the organization: ${what} is ${isGiven ? 'given to' : 'refused to'} a user who is ${isGiven ? 'no' : 'a'} member`,
          );
      };
    },
    restored() {
      isMember = createRegister(false);
      isMember.begin(true, ++events);
      isMember.begin(false, ++events);
    },
  };
}
