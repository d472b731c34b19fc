export const resumeSession: any = undefined;
