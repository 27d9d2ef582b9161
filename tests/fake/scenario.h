/* A scenario tells the fake libraries what to answer: the file that DAVY_FAKE names, one "key value..." on each line, '#' begins a comment.
 *
 *   gpus N            devices (default 8)             driver V       driver version
 *   name TEXT         product name                    cuda N         13000 for 13.0
 *   cc N              compute capability, 90          memory N       bytes
 *   init N            return of nvmlInit              cuinit N       return of cuInit
 *   lost G            device G is lost                links N        NVLinks of each device
 *   linkdown G L      link L of device G is down      switch 0|1     links end in a switch (1) or in the other devices (0)
 *   p2p A B N         NVML's P2P status of a pair     p2pall N       of all pairs
 *   mig G             device G is cut into slices     mode G N       compute mode
 *   ecc G N           uncorrected errors              remap G        a remapping waits
 *   throttle G BITS   reasons                         fabric G N     state
 *   processes G N     compute processes               nccl N         22809 for 2.28.9
 *   free N            bytes free on each device (default 16 MB: the tests of memory stay small)
 *   full G            no memory is left on G         retain G CODE  its context cannot be had
 *   badmem G          what is read from G is wrong   copycode G N   return of cuMemcpyDtoH
 *   nopeer 1          no peer access at all          peerbad A B    copies straight from A to B are wrong; peerhang A B: never end;
 * peercode A B N copybad A B       copies from A to B are wrong whatever way they go ncclinit CODE     return of ncclCommInitRank, after it
 * printed `ncclwarn TEXT` as NCCL does wrongsum R        rank R gets wrong sums         p2pwrong 1, p2phang 1   all_reduce is wrong, hangs,
 * unless NCCL_P2P_DISABLE=1 hang CALL         that call never returns         crash CALL     that call kills the process slow CALL MS that
 * call takes time            lie 1          impossible numbers, texts without an end, a million devices
 */
#ifndef FAKE_SCENARIO_H
#define FAKE_SCENARIO_H

/* The value of a key with up to two leading numbers (-1: none); `otherwise` when no line says it. */
long scenario_number(const char *key, int first, int second, long otherwise);
const char *scenario_text(const char *key, const char *otherwise);
/* Every fake function begins with this: hang, crash, slow. */
void scenario_step(const char *call);

#endif
